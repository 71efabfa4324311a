package scenario

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// impatient serves, but ends a connection on which no request came within d of its opening,
// as f does, if it was opened while on.
func impatient(d time.Duration, f farewell, on *atomic.Bool) script {
	return func(c *peerConn) {
		if !on.Load() {
			c.serve()
			return
		}
		c.tcp.SetReadDeadline(time.Now().Add(d))
		_, err := c.br.Peek(1)
		c.tcp.SetReadDeadline(time.Time{})
		if os.IsTimeout(err) {
			f.h1(c)
			c.drain()
			return
		}
		c.serve()
	}
}

// A warmer is a transport whose dials are held, so that their requests can go meanwhile.
type warmer struct {
	*pool.Transport
	url string

	mu   sync.Mutex
	hold chan struct{} // nil: dials aren't held
}

func (r *rig) warmer(p *rawPeer) *warmer {
	r.t.Helper()
	w := &warmer{url: p.url}
	w.Transport = r.pool(pool.Config{Base: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		hold := w.hold
		w.mu.Unlock()
		if hold != nil {
			<-hold
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}})
	// It is known then what the peer speaks, and that a request each needs a connection.
	doer(w.RoundTrip).must(r.t, newPatient(r.t, http.MethodGet, w.url, noBody))
	w.CloseIdleConnections()
	return w
}

// warm leaves the transport with about n connections that were never used: those who wanted
// them have gone.
func (w *warmer) warm(t *testing.T, n int) {
	t.Helper()
	within(patience, func() bool { return gauges(w.Transport).Dialing == 0 }) // what was before is over
	w.CloseIdleConnections()
	w.mu.Lock()
	w.hold = make(chan struct{})
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	var calls []<-chan error
	for range n {
		calls = append(calls, doer(w.RoundTrip).start(newCall(ctx, http.MethodGet, w.url, noBody)))
	}
	dials := within(patience, func() bool { return gauges(w.Transport).Dialing == n })
	cancel()
	for _, c := range calls {
		<-c
	}
	before := w.Stats().Total.DialsUnused
	w.mu.Lock()
	close(w.hold)
	w.hold = nil
	w.mu.Unlock()
	if !dials || !within(patience, func() bool { return gauges(w.Transport).Dialing == 0 }) || w.Stats().Total.DialsUnused == before {
		t.Fatalf("no unused connections: %+v", gauges(w.Transport))
	}
}

// Connections that were opened and never used have a timeout of their own at the
// server, and some servers say 408 when it is over. That is nobody's answer.
func TestAnUnusedConnectionsEndIsNobodysAnswer(t *testing.T) {
	const T, n = 60 * time.Millisecond, 4
	for _, sp := range speeches[:2] {
		for _, f := range farewells {
			if !f.in(sp) {
				continue
			}
			t.Run(sp.name+"/"+f.name, func(t *testing.T) {
				r := newRig(t, sp.mode)
				var on atomic.Bool // else a handshake on a busy machine may take too long
				p := r.peer(impatient(T, f, &on))
				w := r.warmer(p)
				tr := w.Transport
				const rounds = 2
				for i := range rounds {
					on.Store(true)
					w.warm(t, n)
					pause(T * 3 / 2)
					on.Store(false)
					f.wantGone(t, tr)
					for k := range n {
						do := fronts[k%len(fronts)].over(tr)
						do.must(t, newPatient(t, http.MethodPost, p.url, bodyKinds[(i+k)%len(bodyKinds)]))
					}
				}
				if got := p.received(); got != 1+rounds*n || len(p.twice()) > 0 {
					t.Errorf("the peer got %d requests of %d, and twice: %v", got, 1+rounds*n, p.twice())
				}
			})
		}
	}
}

// When the server has ended unused connections a few times, the client knows after what time,
// and keeps that apart from what it knows of used ones.
func TestTheTimeoutOfUnusedConnectionsIsLearntApart(t *testing.T) {
	const T, n = 120 * time.Millisecond, 3
	r := newRig(t, plain)
	var on atomic.Bool
	on.Store(true)
	p := r.peer(impatient(T, farewell{h1: func(c *peerConn) { c.say(text408, "close"); c.tcp.CloseWrite() }}, &on))
	w := r.warmer(p)
	tr := w.Transport
	do := doer(tr.RoundTrip)
	for range 8 {
		w.warm(t, n)
		if !within(patience, func() bool { return gauges(tr) == (counts{}) }) {
			t.Fatalf("the peer doesn't close: %+v", gauges(tr))
		}
	}
	h := tr.Stats().Hosts[0]
	if h.UnusedLimitSource != "learnt" || h.UnusedLimit < T/2 || h.UnusedLimit >= T*13/10 {
		t.Errorf("limit of unused connections %v (%s), the peer's is %v", h.UnusedLimit, h.UnusedLimitSource, T)
	}
	if h.IdleLimit != 0 {
		t.Errorf("limit of used connections %v (%s)", h.IdleLimit, h.IdleLimitSource)
	}
	before := p.conns()
	for range 3 { // a used one stays
		do.must(t, newPatient(t, http.MethodPost, p.url, oneShot))
		pause(T * 3 / 2)
	}
	if got := p.conns() - before; got != 1 {
		t.Errorf("%d connections for three requests", got)
	}
}
