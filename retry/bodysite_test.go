package retry_test

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A wire is a protocol, and what the client uses.
type wire struct {
	name   string
	secure bool
	h2     bool
	stock  bool // net/http's Transport in place of a pool
}

var wires = []wire{
	{name: "h1"}, {name: "TLS", secure: true}, {name: "h2", secure: true, h2: true},
	{name: "net/http h1", stock: true}, {name: "net/http h2", secure: true, h2: true, stock: true},
}

// A site is a server, and the Base by which it is called.
type site struct {
	url   string
	base  http.RoundTripper
	conns atomic.Int32

	mu    sync.Mutex
	whole []string // the bodies that arrived to their end
}

// start runs a server. The first connection, if first isn't nil, is its alone: it is
// called behind the TLS handshake, and closed by a reset.
func (w wire) start(t *testing.T, first func(net.Conn), h http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = w.h2
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	gate := &gate{Listener: srv.Listener, first: first, wire: w}
	srv.Listener = gate
	if w.secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	s.url = srv.URL
	conf := &tls.Config{RootCAs: rootPool(), ServerName: originName}
	tr := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: w.h2, ExpectContinueTimeout: 10 * time.Second}
	if w.stock {
		t.Cleanup(tr.CloseIdleConnections)
		s.base = tr
		return s
	}
	p, err := pool.New(pool.Config{Base: tr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	s.base = p
	return s
}

// A gate keeps the first connection from the server.
type gate struct {
	net.Listener
	wire  wire
	first func(net.Conn)
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil || g.first == nil {
		return c, err
	}
	raw, first := c.(*net.TCPConn), g.first
	g.first = nil
	if g.wire.secure {
		conf := serverTLS()
		if g.wire.h2 {
			conf.NextProtos = []string{"h2"}
		}
		c = tls.Server(raw, conf)
	}
	first(c)
	end(raw, true)
	return g.Listener.Accept()
}

// take reads the request's body and keeps it if it is whole.
func (s *site) take(r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = append(s.whole, string(b))
}

func (s *site) wantWhole(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.whole) != len(want) {
		t.Errorf("%d whole bodies arrived, want %d: %.100q", len(s.whole), len(want), s.whole)
		return
	}
	for i := range want {
		if s.whole[i] != want[i] {
			t.Errorf("body %d has %d bytes, want %d: %.50q", i+1, len(s.whole[i]), len(want[i]), s.whole[i])
		}
	}
}

// call sends a request that may be repeated and returns how often it was sent again.
func (s *site) call(t *testing.T, p retry.Policy, change func(*http.Request)) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "PUT", s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	var report retry.Report
	req = req.WithContext(retry.WithReport(retry.WithIdempotent(req.Context()), &report))
	change(req)
	tr := &retry.Transport{Base: s.base, Policy: quick(p)}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return report.Retries, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return report.Retries, err
}

func eachWire(t *testing.T, f func(t *testing.T, w wire)) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}
