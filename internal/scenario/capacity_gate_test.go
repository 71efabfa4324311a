package scenario

import (
	"context"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A stile holds dials up, at some step, until their test opens it.
type stile struct {
	opened chan struct{}
	open   func() // it stays open
	at     atomic.Int64
}

func newStile() *stile {
	g := &stile{opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	return g
}

// pass waits until the stile is open. False: what stop says came first.
func (g *stile) pass(stop <-chan struct{}) bool {
	g.at.Add(1)
	defer g.at.Add(-1)
	select {
	case <-g.opened:
		return true
	case <-stop:
		return false
	}
}

// keeps tells whether a dial stays before the stile although nobody waits for it.
func (g *stile) keeps() bool {
	if g.at.Load() == 0 {
		return false
	}
	pause(200 * time.Millisecond) // a silent proxy's would be gone
	return g.at.Load() > 0
}

// A heldWay is a way with a stile on it.
type heldWay struct {
	name string
	in   func(speech) bool
	take func(r *rig, s *site, cfg *pool.Config, g *stile) string
}

// heldWays have their stile each at another step of a dial.
var heldWays = []heldWay{
	{"hook", anywhere, func(_ *rig, s *site, cfg *pool.Config, g *stile) string {
		cfg.Base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !g.pass(ctx.Done()) {
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		return s.url
	}},
	{"handshake", overTLS, func(r *rig, s *site, cfg *pool.Config, g *stile) string {
		cfg.Base.DialContext = hookTo(r.held(s.addr, g))
		return s.url
	}},
	{"CONNECT", overTLS, func(r *rig, s *site, cfg *pool.Config, g *stile) string {
		l := &relay{to: s.addr, flows: make(map[*flow]struct{})}
		cfg.Base.Proxy = through("http", r.peerIn(plain, func(c *peerConn) {
			req, err := http.ReadRequest(c.br)
			if err == nil && req.Method == http.MethodConnect && c.hold(g) {
				c.say("HTTP/1.1 200 OK\r\n\r\n")
				l.join(c.Conn, c.br)
			}
		}), nil).Base.Proxy
		return s.url
	}},
	{"handshake behind CONNECT", overTLS, func(r *rig, s *site, cfg *pool.Config, g *stile) string {
		cfg.Base.Proxy = through("http", r.tunnel(plain, r.held(s.addr, g)), nil).Base.Proxy
		return s.url
	}},
	{"TLS with the proxy", overTLS, func(r *rig, s *site, cfg *pool.Config, g *stile) string {
		cfg.Base.Proxy = through("https", &rawPeer{addr: r.held(r.tunnel(overT, s.addr).addr, g)}, nil).Base.Proxy
		return s.url
	}},
	{"SOCKS5", anywhere, func(r *rig, s *site, cfg *pool.Config, g *stile) string {
		cfg.Base.Proxy = through("socks5h", r.socks(s.addr, g), nil).Base.Proxy
		return s.url
	}},
}

// held starts a relay that passes nothing on while the stile is shut, and returns its
// address.
func (r *rig) held(to string, g *stile) string {
	l := &relay{to: to, flows: make(map[*flow]struct{})}
	return r.peerIn(plain, func(c *peerConn) {
		if c.hold(g) {
			l.join(c.Conn, c.br)
		}
	}).addr
}

// hold waits until the stile is open. False: the client closed before.
func (c *peerConn) hold(g *stile) bool {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for n := 1; ; n = c.br.Buffered() + 1 { // what it sends meanwhile stays unread
			if _, err := c.br.Peek(n); err != nil {
				return
			}
		}
	}()
	ok := g.pass(gone)
	c.tcp.SetReadDeadline(time.Unix(1, 0))
	<-gone
	c.tcp.SetReadDeadline(time.Time{})
	return ok
}

// onHeldWays runs test on each of them, all at the same time.
func onHeldWays(t *testing.T, test func(*testing.T, *rig, *site, heldWay)) {
	t.Helper()
	var cases []func()
	for _, sp := range speeches {
		for _, w := range heldWays {
			if w.in(sp) {
				cases = append(cases, func() {
					t.Run(sp.name+"/"+w.name, func(t *testing.T) {
						r := newPart(t, sp.mode)
						test(t, r, r.site(sp, manners{}), w)
					})
				})
			}
		}
	}
	side(t, cases)
}

// by makes a transport that takes the way to s, and the URL for it. The stile is open at
// the test's end.
func (w heldWay) by(r *rig, s *site) (*pool.Transport, string, *stile) {
	cfg, g := pool.Config{Base: &http.Transport{}}, newStile()
	url := w.take(r, s, &cfg, g)
	return r.client(s.speech, cfg), url, g
}

// A turnstile is a dial hook that holds dials up, and lets as many through as its test says.
type turnstile struct {
	mu     sync.Mutex
	held   []chan struct{}
	lifted bool
}

func (ts *turnstile) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case <-ts.enter():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// enter returns a channel that is closed when this one may pass.
func (ts *turnstile) enter() <-chan struct{} {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	pass := make(chan struct{})
	if ts.lifted {
		close(pass)
	} else {
		ts.held = append(ts.held, pass)
	}
	return pass
}

// gather waits until n are held, and a moment for more. It returns how many there are.
func (ts *turnstile) gather(n int) int {
	count := func() int { ts.mu.Lock(); defer ts.mu.Unlock(); return len(ts.held) }
	within(patience, func() bool { return count() >= n })
	pause(10 * time.Millisecond)
	return count()
}

// let lets n pass.
func (ts *turnstile) let(n int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	n = min(n, len(ts.held))
	for _, pass := range ts.held[:n] {
		close(pass)
	}
	ts.held = ts.held[n:]
}

// open lets all pass from now on, until shut is called.
func (ts *turnstile) open() { ts.set(true); ts.let(math.MaxInt) }
func (ts *turnstile) shut() { ts.set(false) }

func (ts *turnstile) set(lifted bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.lifted = lifted
}
