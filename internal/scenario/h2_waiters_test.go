package scenario

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// fill takes all of a connection's streams.
func fill(t *testing.T, do doer, p *h2Peer, asks asked, n int) (calls []<-chan error, got []ask) {
	t.Helper()
	for range n {
		calls = append(calls, do.start(newPatient(t, http.MethodPost, p.url, oneShot)))
		got = append(got, asks.next(t))
	}
	return calls, got
}

// Who waits for a stream is served in turn, or is told in time that there was none.
func TestWaitersForAStreamAreServedInTheirOrder(t *testing.T) {
	const streams, waiters, wait = 3, 12, 200 * time.Millisecond
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven(maxStreams(streams))
		tr := r.h2pool(pool.Config{MaxConnsPerHost: 1})
		do := doer(tr.RoundTrip)
		calls, held := fill(t, do, p, asks, streams)
		var ids []string
		for i := range waiters {
			c := newPatient(t, http.MethodGet, p.url, noBody)
			ids = append(ids, c.id)
			calls = append(calls, do.start(c))
			if !within(patience, func() bool { return gauges(tr).Waiting == i+1 }) {
				t.Fatalf("%+v with %d waiting", gauges(tr), i+1)
			}
		}
		asks.none(t)
		for i, id := range ids {
			held[i].answer(t)
			a := asks.next(t)
			if got := a.q.Field("x-request-id"); got != id {
				t.Errorf("waiter %d is served before %s", i, got)
			}
			held = append(held, a)
		}
		for _, a := range held[waiters:] {
			a.answer(t)
		}
		all(t, calls...)
	})
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven(maxStreams(streams))
		do := doer(r.h2pool(pool.Config{MaxConnsPerHost: 1, MaxWait: wait}).RoundTrip)
		calls, held := fill(t, do, p, asks, streams)
		start := time.Now()
		c := newPatient(t, http.MethodPost, p.url, oneShot)
		err := do.send(c)
		took := time.Since(start)
		wantPhase(t, "a waiter", err, pool.PhaseWait)
		if !errors.Is(err, pool.ErrWaitTimeout) || took < wait || took > wait+time.Second {
			t.Errorf("after %v, with a limit of %v: %v", took, wait, err)
		}
		if n := c.body.reads.Load(); n > 0 {
			t.Errorf("the waiter's body was read %d times", n)
		}
		for _, a := range held {
			a.answer(t)
		}
		all(t, calls...)
		if p.conns() != 1 || p.sum().Streams != streams {
			t.Errorf("%d connections, %d streams", p.conns(), p.sum().Streams)
		}
	})
}
