package scenario

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// crowd answers its first n requests when all have come, so that each has a connection
// of its own, and later ones at once.
func crowd(n int) script {
	var asked sync.WaitGroup
	asked.Add(n)
	var seen atomic.Int64
	return func(c *peerConn) {
		for q, err := c.request(); err == nil; q, err = c.request() {
			if seen.Add(1) <= int64(n) {
				asked.Done()
				asked.Wait()
			}
			if q.Method == http.MethodPut { // held until the test lets it go
				<-c.peer.gate
			}
			if c.answer(q) != nil {
				return
			}
		}
	}
}

func TestCloseIdleConnectionsClosesIdleOnesNowAndBusyOnesWhenDone(t *testing.T) {
	const idle, busy = 60, 5
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(crowd(idle))
		tr := r.pool(pool.Config{})
		// By way of a Client and a wrapper, which must pass it on.
		client := &http.Client{Transport: &retry.Transport{Base: tr}}
		together(idle, func(int) {
			if err := doer(client.Do).send(newCall(t.Context(), http.MethodGet, p.url, noBody)); err != nil {
				t.Error(err)
			}
		})
		done := make(chan error, busy)
		for i := range busy {
			go func() {
				done <- doer(client.Do).send(newCall(t.Context(), http.MethodPut, p.url, bodyKinds[i%len(bodyKinds)]))
			}()
		}
		if !within(5*time.Second, func() bool { return p.received() == idle+busy }) {
			t.Fatalf("the peer got %d requests", p.received())
		}
		client.CloseIdleConnections()
		if g := gauges(tr); g != (counts{Open: busy, InUse: busy}) {
			t.Errorf("when CloseIdleConnections returned: %+v", g)
		}
		if !within(restTime, func() bool { return p.opened() == busy }) {
			t.Errorf("%d connections are open at the peer", p.opened())
		}
		close(p.gate)
		for range busy {
			if err := <-done; err != nil {
				t.Errorf("a request under way: %v", err)
			}
		}
		if g := gauges(tr); g != (counts{}) {
			t.Errorf("when the last request was done: %+v", g)
		}
		if n := tr.Stats().Total.ClosedBy[pool.ReasonIdleClosed]; n != idle {
			t.Errorf("closed: %v", tr.Stats().Total.ClosedBy)
		}
		doer(client.Do).must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
		if p.conns() != idle+1 {
			t.Errorf("%d connections, want one more than %d", p.conns(), idle)
		}
	})
}

// An operator drops a host's connections: no request may notice.
func TestDrainUnderLoadFailsNothing(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p, other := r.peer((*peerConn).serve), r.peer((*peerConn).serve)
		tr := r.pool(pool.Config{MaxConnsPerHost: 6})
		doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodGet, other.url, noBody))
		const workers, rounds, drains = 8, 40, 10
		var sent atomic.Int64
		together(workers, func(i int) {
			do := fronts[i%3].over(tr)
			for k := range rounds {
				if err := do.send(newCall(t.Context(), http.MethodPost, p.url, bodyKinds[k%len(bodyKinds)])); err != nil {
					t.Error(err)
				}
				if sent.Add(1)%(workers*rounds/drains) == 0 {
					tr.Drain(p.addr)
				}
			}
		})
		if p.received() != workers*rounds || len(p.twice()) > 0 {
			t.Errorf("the peer got %d requests of %d, and twice: %v", p.received(), workers*rounds, p.twice())
		}
		if p.conns() < drains {
			t.Errorf("%d connections with %d drains", p.conns(), drains)
		}
		if g := gauges(tr); g.Idle == 0 || g.InUse != 0 {
			t.Errorf("%+v", g)
		}
		doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodGet, other.url, noBody))
		if other.conns() != 1 {
			t.Errorf("the other host has had %d connections", other.conns())
		}
	})
}

// What begins after Drain goes out on a connection that was opened after it.
func TestAfterDrainNoOldConnectionIsUsed(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(crowd(0))
		tr := r.pool(pool.Config{})
		do := doer(tr.RoundTrip)
		done := make(chan error, 1)
		for round := range 10 {
			go func() { done <- do.send(newCall(t.Context(), http.MethodPut, p.url, replayable)) }()
			if !within(5*time.Second, func() bool { return p.received() == 2*round+1 }) {
				t.Fatal("the request under way didn't arrive")
			}
			tr.Drain(p.addr)
			before := p.conns()
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
			if p.conns() != before+1 {
				t.Errorf("round %d: no new connection after Drain", round)
			}
			p.gate <- struct{}{}
			if err := <-done; err != nil {
				t.Errorf("round %d: the request under way: %v", round, err)
			}
		}
	})
}

// Close ends what is under way, says how far it got, and is not waited for.
func TestCloseEndsRequestsUnderWay(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(holding)
		tr := r.pool(pool.Config{MaxConnsPerHost: 2})
		const n = 6
		done := make(chan error, n)
		for i := range n {
			go func() {
				done <- doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
			}()
		}
		if !within(5*time.Second, func() bool { return p.received() == 2 && gauges(tr).Waiting == n-2 }) {
			t.Fatalf("%d requests arrived, %+v", p.received(), gauges(tr))
		}
		start := time.Now()
		tr.Close()
		phases := map[pool.Phase]int{}
		for range n {
			err := <-done
			phases[poolError(t, err).Phase]++
			if !errors.Is(err, pool.ErrClosed) {
				t.Errorf("%v", err)
			}
		}
		if took := time.Since(start); took > restTime {
			t.Errorf("it took %v", took)
		}
		if phases[pool.PhaseSent] != 2 || phases[pool.PhaseWait] != n-2 {
			t.Errorf("phases %v", phases)
		}
		err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, oneShot))
		if pe := poolError(t, err); !errors.Is(err, pool.ErrClosed) || !pe.Phase.Unprocessed() {
			t.Errorf("after Close: %#v", pe)
		}
	})
}
