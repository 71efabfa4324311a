package scenario

import (
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/connwise/health"
	"example.com/connwise/pool"
)

// The watch over idle connections needs no request to find those that were closed.
func TestClosedIdleConnectionsLeaveThePoolByThemselves(t *testing.T) {
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		const n = 8
		var asked sync.WaitGroup
		asked.Add(n)
		p := r.peer(func(c *peerConn) {
			q, err := c.request()
			asked.Done()
			asked.Wait() // so that each request has a connection of its own
			if err == nil && c.answer(q) == nil {
				<-c.peer.gate
				end.close(c)
			}
		})
		tr := r.pool(pool.Config{})
		together(n, func(int) {
			if err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodGet, p.url, noBody)); err != nil {
				t.Error(err)
			}
		})
		if g := gauges(tr); g != (counts{Open: n, Idle: n}) {
			t.Fatalf("%+v", g)
		}
		start := time.Now()
		close(p.gate)
		if !within(restTime, func() bool { return gauges(tr) == (counts{}) }) {
			t.Errorf("%v after the peer closed: %+v", restTime, gauges(tr))
		}
		t.Logf("gone within %v", time.Since(start))
		if total := tr.Stats().Total; total.ClosedBy[pool.ReasonPeerClosed] != n || total.Closed != n {
			t.Errorf("closed: %v, want %d by the peer", total.ClosedBy, n)
		}
	})
}

// The peer closes behind an answer that promised to keep the connection. A close that has
// arrived is always found; one that crosses the next request is reported as ambiguous,
// and no request is executed twice.
func TestACloseBehindAnAnswerLosesNothing(t *testing.T) {
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		if end.name == "RST" {
			return // it would take the answer with it
		}
		p := r.peer(func(c *peerConn) {
			if q, err := c.request(); err == nil && c.answer(q) == nil {
				end.close(c)
			}
		})
		for _, workers := range []int{1, 8} {
			rounds := 240 / workers
			if r.mode.tls {
				rounds = 64 / workers
			}
			closeBehindAnswer(t, r, p, workers, rounds)
		}
	})
}

func closeBehindAnswer(t *testing.T, r *rig, p *rawPeer, workers, rounds int) {
	tr := r.pool(pool.Config{})
	before := p.received()
	failed := make([]int, workers)
	together(workers, func(i int) {
		do := fronts[i%3].over(tr) // not the retrying one: this is about single attempts
		for k := range rounds {
			c := newCall(t.Context(), http.MethodPost, p.url, bodyKinds[k%len(bodyKinds)])
			err := do.send(c)
			n := p.count(c.id)
			switch {
			case err == nil && n != 1:
				t.Errorf("a request that had an answer came %d times", n)
			case err != nil:
				failed[i]++
				pe := poolError(t, err)
				if pe.Phase.Unprocessed() || pe.Phase == pool.PhaseUnknown || !pe.Reused || n > 1 {
					t.Errorf("came %d times: %#v", n, pe)
				}
			}
		}
	})
	total, bad := workers*rounds, 0
	for _, n := range failed {
		bad += n
	}
	t.Logf("%d workers: %d of %d requests crossed a close", workers, bad, total)
	// The peer is found out by the second connection that it closes so.
	if bad > 5+total/100 {
		t.Errorf("%d workers: %d of %d requests crossed a close", workers, bad, total)
	}
	if got := p.received() - before; got < total-bad || got > total {
		t.Errorf("%d workers: the peer got %d requests, of which %d were sent and %d failed", workers, got, total, bad)
	}
	if len(p.twice()) > 0 {
		t.Errorf("the peer got %v more than once", p.twice())
	}
}

// A look costs so little that it is taken at every reuse, however short the idle time.
func TestALookBeforeReuseIsCheap(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer((*peerConn).drain)
		nc, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		if r.mode.tls {
			c := health.NewTLSClient(nc, clientTLS("127.0.0.1"))
			if err := c.Handshake(); err != nil {
				t.Fatal(err)
			}
			nc = c
		}
		defer nc.Close()
		probe := health.NewProbe(nc)
		took := make([]time.Duration, 2001)
		for i := range took {
			start := time.Now()
			v, err := probe.Look()
			took[i] = time.Since(start)
			if v != health.Alive {
				t.Fatalf("look %d: %v, %v", i, v, err)
			}
		}
		slices.Sort(took)
		t.Logf("median %v", took[len(took)/2])
		if median := took[len(took)/2]; median > 20*time.Microsecond {
			t.Errorf("the median of a look is %v", median)
		}
	})
}

// Session tickets come after the handshake, and a look that took them for surplus would
// make every first connection useless.
func TestSessionTicketsDontSpoilAConnection(t *testing.T) {
	r := newRig(t, overT)
	p := r.peer((*peerConn).serve)
	for _, f := range fronts {
		tr := r.pool(pool.Config{})
		before := p.conns()
		do := f.over(tr)
		for i := range 20 {
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
		}
		if n := p.conns() - before; n != 1 {
			t.Errorf("%s: %d connections for 20 requests", f.name, n)
		}
	}
}

// An answer that came in pieces while the pool looked at its connection is whole.
func TestALookLosesNoByte(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(func(c *peerConn) {
			for q, err := c.request(); err == nil; q, err = c.request() {
				for _, b := range []byte(answerText(q.id)) {
					if _, err := c.Write([]byte{b}); err != nil {
						return
					}
				}
			}
		})
		tr := r.pool(pool.Config{})
		for i := range 20 {
			c := newCall(t.Context(), http.MethodGet, p.url, noBody)
			resp, err := tr.RoundTrip(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(b) != c.id {
				t.Errorf("answer %d: %q, %v", i, b, err)
			}
		}
		if p.conns() != 1 {
			t.Errorf("%d connections", p.conns())
		}
	})
}
