package scenario

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A barrier stops those who come to it while it is shut.
type barrier struct {
	stopped atomic.Int64 // how many it has

	mu   sync.Mutex
	lift chan struct{} // nil: it isn't shut
}

func (b *barrier) shut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped.Store(0)
	b.lift = make(chan struct{})
}

func (b *barrier) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.lift)
	b.lift = nil
}

// pass waits until it is open; false: stop came first.
func (b *barrier) pass(stop <-chan struct{}) bool {
	b.mu.Lock()
	lift := b.lift
	b.mu.Unlock()
	if lift == nil {
		return true
	}
	b.stopped.Add(1)
	select {
	case <-lift:
		return true
	case <-stop:
		return false
	}
}

// The barriers of a dial: at its beginning, at the proxy, and before the first byte that comes
// from the server, which is a TLS handshake's.
type barriers struct{ connect, proxy, tls barrier }

// A barredWay is a way with barriers on it.
type barredWay struct {
	name string
	in   func(speech) bool
	take func(r *rig, s *site, cfg *pool.Config, bs *barriers) string
}

// barred are ways with barriers on them.
var barred = []barredWay{
	{"direct", anywhere, func(r *rig, s *site, cfg *pool.Config, bs *barriers) string {
		at := r.halting(s.addr, &bs.tls)
		cfg.Base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			if !bs.connect.pass(ctx.Done()) {
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, network, at)
		}
		return s.url
	}},
	{"tunnel", overTLS, func(r *rig, s *site, cfg *pool.Config, bs *barriers) string {
		l := &relay{to: r.halting(s.addr, &bs.tls), flows: make(map[*flow]struct{})}
		cfg.Base.Proxy = through("http", r.peerIn(plain, func(c *peerConn) {
			req, err := http.ReadRequest(c.br)
			if err == nil && req.Method == http.MethodConnect && bs.proxy.pass(c.peer.over) {
				c.say("HTTP/1.1 200 OK\r\n\r\n")
				l.join(c.Conn, c.br)
			}
		}), nil).Base.Proxy
		return s.url
	}},
	{"SOCKS5", anywhere, func(r *rig, s *site, cfg *pool.Config, bs *barriers) string {
		l := &relay{to: r.halting(s.addr, &bs.tls), flows: make(map[*flow]struct{})}
		cfg.Base.Proxy = through("socks5", r.peerIn(plain, func(c *peerConn) {
			if socksRequest(c.br, c) == nil && bs.proxy.pass(c.peer.over) {
				io.WriteString(c, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
				l.join(c.Conn, c.br)
			}
		}), nil).Base.Proxy
		return s.url
	}},
	{"forward proxy", forwarded, func(r *rig, s *site, cfg *pool.Config, _ *barriers) string {
		cfg.Base.Proxy = through("http", s.h1, nil).Base.Proxy
		return "http://origin.test"
	}},
}

// halting starts a relay with a barrier, and returns its address.
func (r *rig) halting(to string, b *barrier) string {
	l := &relay{to: to, flows: make(map[*flow]struct{})}
	return r.peerIn(plain, func(c *peerConn) {
		c.tcp.SetReadBuffer(narrow)
		if b.pass(c.peer.over) {
			l.join(c.Conn, c.br)
		}
	}).addr
}

// Wherever a request is when its time is over (in the queue, at any step of a dial, writing or
// reading), its slot comes back: forty workers give up at each of these places, over two
// connections; then a plain request goes through.
func TestOnNoWayDoesACancelKeepASlot(t *testing.T) {
	var cases []func()
	for _, w := range barred {
		for _, sp := range speeches {
			if w.in(sp) {
				cases = append(cases, func() {
					t.Run(sp.name+"/"+w.name, func(t *testing.T) { giveUpOn(t, sp, w) })
				})
			}
		}
	}
	side(t, cases)
}

func giveUpOn(t *testing.T, sp speech, w barredWay) {
	r := newPart(t, sp.mode)
	s, bs := r.stuckSite(sp), new(barriers)
	cfg := pool.Config{Base: &http.Transport{}, MaxConnsPerHost: 2, MaxWait: time.Minute}
	url := w.take(r, s, &cfg, bs)
	giveUpEverywhere(t, r.client(sp, cfg), url, barriersOn(sp, w, bs))
}

// barriersOn are those of the way, by the step of a dial at which they are.
func barriersOn(sp speech, w barredWay, bs *barriers) map[string]*barrier {
	on := make(map[string]*barrier)
	switch w.name {
	case "direct":
		on["connect"] = &bs.connect
	case "tunnel", "SOCKS5":
		on["proxy"] = &bs.proxy
	}
	if sp.tls {
		on["TLS"] = &bs.tls
	}
	return on
}

func giveUpEverywhere(t *testing.T, tr *pool.Transport, url string, steps map[string]*barrier) {
	for name, b := range steps {
		tr.CloseIdleConnections()
		b.shut()
		giveUpAt(t, tr, url+"/answer", pool.PhaseDial, func() bool { return b.stopped.Load() > 0 })
		b.open()
		wantThrough(t, tr, url, name)
	}
	for path, phase := range map[string]pool.Phase{"/deaf": pool.PhaseSending, "/silent": pool.PhaseSent, "/half": pool.PhaseResponse} {
		giveUpAt(t, tr, url+path, phase, nil)
		wantThrough(t, tr, url, path)
	}
	giveUpAt(t, tr, url+"/silent", pool.PhaseWait, nil)
	wantThrough(t, tr, url, "wait")
}

// giveUpAt has forty workers send requests with little time, until one at least was in the phase
// when it was over, and the place is reached.
func giveUpAt(t *testing.T, tr *pool.Transport, url string, phase pool.Phase, reached func() bool) {
	t.Helper()
	var met atomic.Bool
	begun := time.Now()
	together(40, func(int) {
		for most := 10 * time.Millisecond; !met.Load() && time.Since(begun) < patience; most = min(2*most, longest) {
			if giveUp(t, tr, url, rand.N(most)) == phase && (reached == nil || reached()) {
				met.Store(true)
			}
		}
	})
	if !met.Load() {
		t.Errorf("%s: no request was given up in phase %v", url, phase)
	}
}

// longest is the most time that a worker gives a request.
const longest = time.Second

// wantThrough checks that a request goes through, as it does at once if it finds a slot, and
// never if one is lost each time.
func wantThrough(t *testing.T, tr *pool.Transport, url, after string) {
	t.Helper()
	resp, err := tr.RoundTrip(newPatient(t, http.MethodGet, url+"/answer", noBody).Request)
	if err != nil {
		t.Fatalf("%s: a plain request afterwards: %v", after, err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if !within(patience, func() bool { g := gauges(tr); return g.InUse+g.Dialing+g.Waiting == 0 && g.Open <= 2 }) {
		t.Errorf("%s: afterwards: %+v", after, gauges(tr))
	}
}

// giveUp sends a request with so much time, and returns in which phase it was when that was
// over; PhaseUnknown if it got its answer.
func giveUp(t *testing.T, tr *pool.Transport, url string, d time.Duration) pool.Phase {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	method, body := http.MethodGet, io.Reader(nil)
	if strings.HasSuffix(url, "/deaf") {
		method, body = http.MethodPut, io.LimitReader(zeros{}, 64<<20)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Error(err)
		return pool.PhaseUnknown
	}
	resp, err := tr.RoundTrip(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		return pool.PhaseUnknown
	}
	e := poolError(t, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: %v", url, err)
	}
	return e.Phase
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
