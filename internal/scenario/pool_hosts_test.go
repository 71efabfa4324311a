package scenario

import (
	"bytes"
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// everywhere resolves all names to the loopback address.
type everywhere struct{}

func (everywhere) LookupHost(context.Context, string) ([]string, error) {
	return []string{"127.0.0.1"}, nil
}

// The pool's own idle timeout holds for every host, without a request that would notice,
// and not for a connection that is in use.
func TestTheIdleTimeoutClosesConnectionsOfAllHosts(t *testing.T) {
	const idle, hosts = 200 * time.Millisecond, 50
	eachMode(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var open []time.Duration // how long connections were open after their answer
		p := r.peer(func(c *peerConn) {
			q, err := c.request()
			if err != nil || q.Method == http.MethodPut && holdFor(c, 2*idle) != nil {
				return
			}
			start := time.Now() // before the client can begin to count
			if c.answer(q) != nil {
				return
			}
			c.drain()
			mu.Lock()
			open = append(open, time.Since(start))
			mu.Unlock()
		})
		_, port, _ := net.SplitHostPort(p.addr)
		tr := r.pool(pool.Config{Base: &http.Transport{IdleConnTimeout: idle}, Dialer: &dialer.Dialer{Resolver: everywhere{}}})
		scheme := map[bool]string{false: "http", true: "https"}[r.mode.tls]
		together(hosts, func(i int) {
			url := scheme + "://host" + strconv.Itoa(i) + ".test:" + port
			method := []string{http.MethodGet, http.MethodPost, http.MethodPut}[i%3] // PUT takes longer than the timeout
			if err := doer(tr.RoundTrip).send(newCall(t.Context(), method, url, bodyKinds[i%len(bodyKinds)])); err != nil {
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
		if n := tr.Stats().Total.ClosedBy[pool.ReasonIdleLimit]; n != hosts || p.conns() != hosts {
			t.Errorf("%d connections, closed: %v", p.conns(), tr.Stats().Total.ClosedBy)
		}
	})
}

// holdFor keeps a request for a while; the error says that the client gave up.
func holdFor(c *peerConn, d time.Duration) error {
	c.tcp.SetReadDeadline(time.Now().Add(d))
	_, err := c.br.Peek(1)
	c.tcp.SetReadDeadline(time.Time{})
	if os.IsTimeout(err) {
		return nil
	}
	return err
}

// One host that fails all the time takes no other host's connections with it, nor its
// own good ones.
func TestAFailingHostCostsOthersNothing(t *testing.T) {
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		good := r.peer((*peerConn).serve)
		bad := r.peer(func(c *peerConn) {
			for q, err := c.request(); err == nil; q, err = c.request() {
				if q.Method == http.MethodPost {
					end.close(c)
					return
				}
				if c.answer(q) != nil {
					return
				}
			}
		})
		tr := r.pool(pool.Config{})
		do := doer(tr.RoundTrip)
		// Two connections to the bad host, of which each failure takes one.
		const rounds = 30
		for i := range rounds {
			do.must(t, newCall(t.Context(), http.MethodGet, good.url, noBody))
			err := do.send(newCall(t.Context(), http.MethodPost, bad.url, bodyKinds[i%len(bodyKinds)]))
			if pe := poolError(t, err); pe.Phase.Unprocessed() || pe.Host != bad.addr {
				t.Errorf("%#v", pe)
			}
			do.must(t, newCall(t.Context(), http.MethodPost, good.url, bodyKinds[i%len(bodyKinds)]))
		}
		if good.conns() != 1 || good.received() != 2*rounds {
			t.Errorf("the good host had %d connections and %d requests", good.conns(), good.received())
		}
		if bad.conns() != rounds || bad.received() != rounds {
			t.Errorf("the bad host had %d connections and %d requests of %d", bad.conns(), bad.received(), rounds)
		}
		do.must(t, newCall(t.Context(), http.MethodGet, bad.url, noBody))
		for _, h := range tr.Stats().Hosts {
			if want := map[string]int{good.addr: 1, bad.addr: 1}[h.Host]; h.Idle != want {
				t.Errorf("%s has %d idle connections", h.Host, h.Idle)
			}
		}
	})
}

// Many callers in a loop need no more connections than there are callers. With a small
// cap on idle ones the churn shows in the statistics.
func TestLoopsOfRequestsDontChurnConnections(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer((*peerConn).serve)
		loops, rounds := 30, 30
		if r.mode.tls {
			loops, rounds = 10, 20
		}
		run := func(tr *pool.Transport) (dials uint64) {
			together(loops, func(i int) {
				do := fronts[i%len(fronts)].over(tr)
				for k := range rounds {
					if err := do.send(newCall(t.Context(), http.MethodPost, p.url, bodyKinds[k%len(bodyKinds)])); err != nil {
						t.Error(err)
						return
					}
				}
			})
			return tr.Stats().Total.Dials
		}
		tr := r.pool(pool.Config{})
		if dials := run(tr); dials > uint64(loops) {
			t.Errorf("%d dials for %d loops", dials, loops)
		}
		capped := r.pool(pool.Config{MaxIdlePerHost: 2})
		dials := run(capped)
		total := capped.Stats().Total
		if g := gauges(capped); g.Idle > 2 {
			t.Errorf("%d idle with a cap of 2", g.Idle)
		}
		if total.ClosedBy[pool.ReasonIdleCap] == 0 || total.ClosedBy[pool.ReasonIdleCap]+uint64(gauges(capped).Open) != total.Opened {
			t.Errorf("with %d dials, closed: %v", dials, total.ClosedBy)
		}
		if n := p.received(); n != 2*loops*rounds {
			t.Errorf("the peer got %d requests of %d", n, 2*loops*rounds)
		}
	})
}

// What happens to idle connections is for the statistics, not for somebody's log.
func TestNothingIsLogged(t *testing.T) {
	var out bytes.Buffer
	log.SetOutput(&out)
	defer log.SetOutput(os.Stderr)
	eachEnding(t, func(t *testing.T, r *rig, end ending) { closedWhileIdle(t, r, bare, end) })
	if out.Len() > 0 {
		t.Errorf("logged: %s", out.String())
	}
}
