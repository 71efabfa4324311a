package scenario

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// The pool's own idle timeout is that of HTTP/2 connections too: for every host, without
// a request that would notice, and not while a stream is open.
func TestTheIdleTimeoutClosesH2Connections(t *testing.T) {
	const idle, hosts = 200 * time.Millisecond, 50
	eachH2(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var open []time.Duration // how long connections were open after their answer
		p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
			_ = c.Settings()
			q, err := c.Request()
			if err != nil {
				return
			}
			if q.Field(":method") == http.MethodPut {
				select {
				case <-time.After(2 * idle):
				case <-c.Done():
				}
			}
			start := time.Now() // before the client can begin to count
			_ = c.Answer(q)
			ignoreH2(c)
			mu.Lock()
			open = append(open, time.Since(start))
			mu.Unlock()
		}})
		_, port, _ := net.SplitHostPort(p.Addr())
		tr := r.h2pool(pool.Config{Base: &http.Transport{IdleConnTimeout: idle}, Dialer: &dialer.Dialer{Resolver: everywhere{}}})
		together(hosts, func(i int) {
			url := strings.SplitAfter(p.url, "//")[0] + "host" + strconv.Itoa(i) + ".test:" + port
			method := []string{http.MethodGet, http.MethodPost, http.MethodPut}[i%3] // PUT takes longer than the timeout
			if err := doer(tr.RoundTrip).send(newPatient(t, method, url, bodyKinds[i%len(bodyKinds)])); err != nil {
				t.Error(err)
			}
		})
		if !within(idle+time.Second, func() bool { return gauges(tr) == (counts{}) && p.opened() == 0 }) {
			t.Errorf("long after the idle timeout: %+v, %d open at the peer", gauges(tr), p.opened())
		}
		mu.Lock()
		defer mu.Unlock()
		for _, d := range open {
			if d < idle {
				t.Errorf("a connection was closed after %v", d)
			}
		}
		// On a busy machine a handshake may take so long that it gets a second one beside it.
		if n := tr.Stats().Total.ClosedBy[pool.ReasonIdleLimit]; int(n) != p.conns() || n < hosts {
			t.Errorf("%d connections, closed: %v", p.conns(), tr.Stats().Total.ClosedBy)
		}
	})
}

// The pool's timer and the next request meet: a connection is closed, or has the request.
func TestTheIdleTimerNeverHitsAnH2ConnectionInUse(t *testing.T) {
	const idle, n = 30 * time.Millisecond, 12
	eachH2(t, func(t *testing.T, r *rig) {
		rounds := 20
		if r.mode.tls {
			rounds = 8 // most need a handshake
		}
		p := r.h2peer(peer.H2Options{})
		together(n, func(i int) {
			do := doer(r.h2pool(pool.Config{Base: &http.Transport{IdleConnTimeout: idle}}).RoundTrip)
			for k := range rounds {
				if err := do.send(newPatient(t, http.MethodPost, p.url, oneShot)); err != nil {
					t.Error(err)
				}
				pause(idle + time.Duration((i+k)%5-2)*time.Millisecond/2)
			}
		})
		if got := p.sum().Executed; got != n*rounds {
			t.Errorf("%d requests executed of %d", got, n*rounds)
		}
	})
}

// A connection that is closed while idle leaves the pool by itself, and is counted as what
// it was.
func TestAClosedIdleH2ConnectionLeavesThePoolByItself(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven()
		tr := r.h2pool(pool.Config{})
		for i := range 5 {
			done := doer(tr.RoundTrip).start(newPatient(t, http.MethodPost, p.url, oneShot))
			a := asks.nextOf(t, done)
			a.answer(t)
			all(t, done)
			if !within(restTime, func() bool { return gauges(tr) == counts{Open: 1, Idle: 1} }) {
				t.Fatalf("long after the answer: %+v", gauges(tr))
			}
			a.Close(peer.FIN)
			if !within(restTime, func() bool { return gauges(tr) == counts{} }) {
				t.Fatalf("long after the close: %+v", gauges(tr))
			}
			if n := tr.Stats().Total.ClosedBy[pool.ReasonPeerClosed]; n != uint64(i+1) {
				t.Errorf("closed: %v", tr.Stats().Total.ClosedBy)
			}
		}
	})
}

// The host's address changes under a constant load. Connections have an age, so that the
// new address has all the requests soon, and none is lost on the way.
func TestAgeMovesABusyClientToANewAddress(t *testing.T) {
	const age, workers = 500 * time.Millisecond, 4
	eachH2(t, func(t *testing.T, r *rig) {
		o := peer.H2Options{Faults: peer.H2Faults{Delay: 2 * time.Millisecond}}
		from, to := r.h2peer(o), r.h2peer(o)
		var current atomic.Pointer[h2Peer]
		current.Store(from)
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, current.Load().Addr())
		}
		tr := r.h2pool(pool.Config{MaxConnAge: age, Base: &http.Transport{DialContext: dial}})
		do := doer(tr.RoundTrip)
		over := make(chan struct{})
		var sent, atOver atomic.Int64
		time.AfterFunc(age/2, func() {
			current.Store(to)
			time.AfterFunc(age*6/5, func() {
				atOver.Store(int64(from.sum().Streams))
				time.AfterFunc(age/2, func() { close(over) })
			})
		})
		together(workers, func(i int) {
			for {
				select {
				case <-over:
					return
				default:
				}
				sent.Add(1)
				if err := do.send(newPatient(t, http.MethodPost, from.url, oneShot)); err != nil {
					t.Error(err)
				}
			}
		})
		a, b := from.sum(), to.sum()
		if int64(a.Streams) != atOver.Load() || int64(a.Executed+b.Executed) != sent.Load() || b.Executed == 0 {
			t.Errorf("%d and %d requests executed of %d; at the old address %d more after %v",
				a.Executed, b.Executed, sent.Load(), int64(a.Streams)-atOver.Load(), age*6/5)
		}
		if n := from.conns() + to.conns(); n > 6 {
			t.Errorf("%d connections", n)
		}
		from.wantClosed(t, 0)
	})
}
