package scenario

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// eachH2 runs test over HTTP/2 by prior knowledge and over TLS.
func eachH2(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	for _, m := range []mode{{"h2c", false}, {"h2", true}} {
		t.Run(m.name, func(t *testing.T) { test(t, newRig(t, m)) })
	}
}

// An h2Peer is a server at frame level. At its end it has seen nothing against RFC 9113.
type h2Peer struct {
	*peer.H2Server
	url string

	mu    sync.Mutex
	wrong []string // ids whose body wasn't what the client had to send
}

// h2peer starts a peer in the rig's mode, and ends it after the rig's transports. Its
// answers have the request's id as their body. Of o.TLS the protocols alone are taken.
func (r *rig) h2peer(o peer.H2Options) *h2Peer {
	r.t.Helper()
	p := &h2Peer{}
	o.KeepBody, o.Body = 1<<20, p.answer
	scheme, protos := "http://", []string(nil)
	if o.TLS != nil {
		protos = o.TLS.NextProtos
	}
	o.TLS = nil
	if r.mode.tls {
		scheme = "https://"
		o.TLS = &tls.Config{Certificates: []tls.Certificate{identity().cert}, NextProtos: protos}
	}
	s, err := peer.StartH2(o)
	if err != nil {
		r.t.Fatal(err)
	}
	p.H2Server, p.url = s, scheme+s.Addr()
	r.onEnd(func() { p.end(r) })
	return p
}

// answer is the body of q's answer. It compares the body of q with what its header says.
func (p *h2Peer) answer(q *peer.H2Request) []byte {
	id := q.Field("x-request-id")
	if len(q.Fields) > 0 && string(q.Body) != q.Field("x-request-body") {
		p.mu.Lock()
		p.wrong = append(p.wrong, id)
		p.mu.Unlock()
	}
	if id == "" && q.ID > 0 { // over HTTP/1.1
		id = strconv.FormatUint(q.ID, 10)
	}
	return []byte(id)
}

// end waits for the connections to be closed by the client, and says what it did wrong.
func (p *h2Peer) end(r *rig) {
	r.t.Helper()
	if !within(restTime, func() bool { return p.opened() == 0 }) {
		r.t.Errorf("%v after Close %d connections are open at the peer", restTime, p.opened())
	}
	p.Close()
	rep := p.Report()
	if len(rep.Violations) > 0 {
		r.t.Errorf("the client's violations: %q", rep.Violations)
	}
	for i, c := range rep.PerConn {
		if c.Late > 0 {
			r.t.Errorf("connection %d: %d streams opened after the client had answered the PING behind a GOAWAY", i, c.Late)
		}
		for _, g := range c.GoAways {
			if g.Last != 0 { // the peer opens no streams
				r.t.Errorf("connection %d: the client's GOAWAY has the last id %d", i, g.Last)
			}
		}
	}
	if len(p.wrong) > 0 {
		r.t.Errorf("wrong bodies arrived with the requests %v", p.wrong)
	}
}

// opened is how many connections are open, conns how many were accepted, sum what they
// carried, and count how often the request with this id was executed.
func (p *h2Peer) opened() int            { r := p.Report(); return r.OpenConns() }
func (p *h2Peer) conns() int             { return p.Report().Accepted }
func (p *h2Peer) sum() peer.H2ConnReport { return p.Report().Sum() }
func (p *h2Peer) conn(n int) peer.H2ConnReport {
	if r := p.Report(); n < len(r.PerConn) {
		return r.PerConn[n]
	}
	return peer.H2ConnReport{}
}

func (p *h2Peer) count(id string) int {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		panic(err) // the test's own mistake
	}
	return p.Report().Executed.Count(n)
}

// twice are the ids that were executed more than once, in runs.
func (p *h2Peer) twice() (runs []peer.Run) {
	for _, run := range p.Report().Executed {
		if run.Count > 1 {
			runs = append(runs, run)
		}
	}
	return runs
}

// wantClosed waits for the client to close the peer's nth connection.
func (p *h2Peer) wantClosed(t *testing.T, n int) {
	t.Helper()
	if !within(restTime, func() bool { return !p.conn(n).Open }) {
		t.Errorf("connection %d is still open", n)
	}
}

// h2pool makes a transport that speaks HTTP/2 with the rig's peers, and asks for it by
// ALPN where there is TLS.
func (r *rig) h2pool(cfg pool.Config) *pool.Transport {
	r.t.Helper()
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	if !r.mode.tls {
		cfg.Base.Protocols = new(http.Protocols)
		cfg.Base.Protocols.SetUnencryptedHTTP2(true)
	}
	return r.pool(cfg)
}

// pings is a Base whose connections are checked after a silence of quiet, and given up
// when there is no answer within answer.
func pings(quiet, answer time.Duration) *http.Transport {
	return &http.Transport{HTTP2: &http.HTTP2Config{SendPingTimeout: quiet, PingTimeout: answer}}
}

// newPatient is newCall with an end to the patience, for requests that must not hang.
func newPatient(t *testing.T, method, url string, kind bodyKind) *call {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return newCall(ctx, method, url, kind)
}

// serveH2 answers requests until the connection ends.
func serveH2(c *peer.H2Conn) {
	for q, err := c.Request(); err == nil; q, err = c.Request() {
		if c.Answer(q) != nil {
			return
		}
	}
}

// ignoreH2 keeps up the connection and answers no request.
func ignoreH2(c *peer.H2Conn) {
	for _, err := c.Request(); err == nil; _, err = c.Request() {
	}
}

// start sends c in a goroutine of its own.
func (do doer) start(c *call) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do.send(c) }()
	return done
}

// all checks that none of the calls has failed.
func all(t *testing.T, calls ...<-chan error) {
	t.Helper()
	for i, c := range calls {
		if err := <-c; err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// wantPhase checks how far a failed request is said to have come.
func wantPhase(t *testing.T, what string, err error, want pool.Phase) *pool.Error {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return &pool.Error{}
	}
	pe := poolError(t, err)
	if pe.Phase != want {
		t.Errorf("%s: phase %v, want %v: %v", what, pe.Phase, want, err)
	}
	if pe.Proto != "HTTP/2.0" && pe.Proto != "" {
		t.Errorf("%s: protocol %q", what, pe.Proto)
	}
	return pe
}

// h2host is the host in a peer's url, as pools name it.
func h2host(p *h2Peer) string { return strings.SplitN(p.url, "//", 2)[1] }

// label names a case.
func label(parts ...any) string { return strings.TrimSpace(fmt.Sprintln(parts...)) }
