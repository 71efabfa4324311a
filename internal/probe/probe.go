package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// A Probe measures one URL. Run may be called once.
type Probe struct {
	opt  Options
	url  *url.URL
	addr string // "host:port"; from the first connection on the address that it went to
	req  *http.Request
	mask mask

	linger    time.Duration // for the end of a connection behind a GOAWAY or a close_notify
	minUnused time.Duration // for which unused connections are watched if they last longer than used ones

	mu       sync.Mutex // guards the following, and calls of opt.Progress
	progress Progress
}

// New checks the options. An error is a *UsageError. Nothing is sent.
func New(o Options) (*Probe, error) {
	u, err := o.fill()
	if err != nil {
		return nil, err
	}
	p := &Probe{opt: o, url: u, linger: 10 * time.Second, minUnused: 15 * time.Second}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	p.addr = net.JoinHostPort(u.Hostname(), port)
	if p.req, err = p.newRequest(); err != nil {
		return nil, err
	}
	p.mask = maskOf(o.Header, p.req)
	return p, nil
}

// Run measures, and blocks until all is known or Options.Max has passed. When ctx ends
// before, the Report has what was known by then, and the error is ctx's. When nothing could be
// measured of any protocol, the error says why for the first.
func (p *Probe) Run(ctx context.Context) (*Report, error) {
	start := time.Now()
	rep := &Report{URL: p.url.Redacted(), Method: p.opt.Method, Max: Millis(p.opt.Max)}
	begun, err := p.begin(ctx)
	rep.Address = p.addr
	if err == nil {
		rep.Protocols = p.measureAll(ctx, begun)
		err = firstError(begun)
	}
	rep.Took = Millis(time.Since(start))
	if ctx.Err() != nil {
		rep.Cut, err = true, ctx.Err()
	}
	rep.Advice = advise(rep)
	return rep, err
}

// A beginning is a protocol that will be measured.
type beginning struct {
	proto string
	link  *link // opened already; may be nil
	err   error // why it couldn't be measured
}

// firstError is nil if anything was measured.
func firstError(begun []*beginning) error {
	for _, b := range begun {
		if b.err == nil {
			return nil
		}
	}
	return begun[0].err
}

// begin opens the first connection, and by that finds out the protocols and the address for
// all others.
func (p *Probe) begin(ctx context.Context) ([]*beginning, error) {
	protos := p.opt.Protos
	var alpn []string
	switch {
	case len(protos) > 0:
		alpn = alpnOf(protos[0])
	case p.url.Scheme == "https":
		alpn = []string{http2.NextProtoTLS, "http/1.1"}
	default:
		protos = []string{H1}
	}
	l, err := p.dial(ctx, alpn)
	if err != nil {
		return nil, p.mask.error(err)
	}
	p.addr = l.wire.RemoteAddr().String()
	if len(protos) == 0 {
		protos = []string{H1S}
		if l.alpn() == http2.NextProtoTLS {
			protos = []string{H2, H1S}
		}
	}
	begun := make([]*beginning, len(protos))
	for i, proto := range protos {
		begun[i] = &beginning{proto: proto}
	}
	begun[0].link = l
	return begun, nil
}

// alpnOf is what to offer in a handshake for a protocol alone. For HTTP/2 that's what
// browsers offer, as servers know it.
func alpnOf(proto string) []string {
	switch proto {
	case H1S:
		return []string{"http/1.1"}
	case H2:
		return []string{http2.NextProtoTLS, "http/1.1"}
	}
	return nil
}

// measureAll measures the protocols at the same time.
func (p *Probe) measureAll(ctx context.Context, begun []*beginning) []Protocol {
	all := make([]Protocol, len(begun))
	var wg sync.WaitGroup
	for i, b := range begun {
		wg.Go(func() {
			m := &measurement{p: p, Protocol: Protocol{Proto: b.proto}}
			if b.err = p.mask.error(m.run(ctx, b.link)); b.err != nil {
				m.Error = b.err.Error()
			}
			slices.Sort(m.Notes)
			all[i] = m.Protocol
		})
	}
	wg.Wait()
	return all
}

// start makes a session of proto on l.
func (p *Probe) start(ctx context.Context, proto string, l *link) (session, error) {
	s, err := p.newSession(ctx, proto, l)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return s, nil
}

func (p *Probe) newSession(ctx context.Context, proto string, l *link) (session, error) {
	switch chosen := l.alpn(); {
	case proto == H2 && chosen != http2.NextProtoTLS:
		return nil, fmt.Errorf("the server doesn't offer h2: it chose %q by ALPN", p.mask.word(chosen))
	case proto == H1S && chosen != "" && chosen != "http/1.1":
		return nil, fmt.Errorf("the server doesn't offer http/1.1: it chose %q by ALPN", p.mask.word(chosen))
	case proto == H2 || proto == H2C:
		return newH2(ctx, l, p.req, p.opt.Timeout)
	}
	return newH1(l, p.req, p.opt.Timeout)
}

// A Progress is what is known so far.
type Progress struct {
	Open     int      // connections that are watched
	Ended    int      // that the peer has ended
	Requests int      // answered, of those sent in sequence
	Known    []string // in the order in which it became known; only ever appended to
}

// note changes the progress and tells of it.
func (p *Probe) note(change func(*Progress)) {
	if p.opt.Progress == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.progress)
	p.opt.Progress(p.progress)
}

// pause waits for d. It reports false when ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// isEnd tells an error that says how the peer ended the connection.
func isEnd(err error) (*endError, bool) { return errors.AsType[*endError](err) }
