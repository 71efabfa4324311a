package scenario

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A host's connections are drained under load on whatever way, now and then: no request
// notices, and what begins afterwards goes by a connection that was opened afterwards.
func TestOnNoWayDoesDrainCostARequest(t *testing.T) {
	waysAtOnce(t, throughProxies, func(t *testing.T, r *rig, sp speech, w way) {
		const workers, rounds, drains = 3, 6, 3
		s := r.site(sp, manners{})
		tr, url := r.by(w, s, pool.Config{MaxConnsPerHost: 3})
		doer(tr.RoundTrip).must(t, newPatient(t, http.MethodGet, url, noBody))
		host := tr.Stats().Hosts[0].Host
		var sent atomic.Int64
		together(workers, func(i int) {
			do := fronts[i%3].over(tr)
			for k := range rounds {
				if err := do.send(newPatient(t, http.MethodPost, url, bodyKinds[k%len(bodyKinds)])); err != nil {
					t.Error(err)
				}
				if sent.Add(1)%(workers*rounds/drains) == 0 {
					tr.Drain(host)
				}
			}
		})
		s.once(t, workers*rounds+1)
		if n := s.conns(); n < drains {
			t.Errorf("%d connections with %d drains", n, drains)
		}
	})
}

// With all of the limit's connections in use Drain lets them end, and who waits gets none of
// them.
func TestDrainAtTheLimitServesWaitersByNewConnections(t *testing.T) {
	atOnce(t, func(t *testing.T, r *rig, sp speech) {
		s := r.depot(sp)
		tr := r.client(sp, pool.Config{MaxConnsPerHost: 2})
		do := doer(tr.RoundTrip)
		calls, held := s.occupy(t, do, s.url, 2)
		waiting := do.start(newPatient(t, http.MethodPost, s.url, oneShot))
		wantWaiting(t, tr, 1)
		tr.Drain(s.addr)
		letGo(t, held[0])
		q := s.next(t)
		if q.conn < 2 {
			t.Errorf("the waiter's request came on connection %d, which was drained", q.conn)
		}
		letGo(t, q, held[1])
		all(t, append(calls, waiting)...)
		if !within(soon, func() bool { return gauges(tr) == counts{Open: 1, Idle: 1} }) {
			t.Errorf("at the end: %+v", gauges(tr))
		}
	})
}

// CloseIdleConnections comes through a Client and wrappers, and also retires connections that
// are in use, when their answers have been read.
func TestNoWrapperHidesCloseIdleConnections(t *testing.T) {
	atOnce(t, func(t *testing.T, r *rig, sp speech) {
		const busy, idle = 3, 4
		s := r.depot(sp)
		tr := r.client(sp, pool.Config{})
		client := &http.Client{Transport: &retry.Transport{Base: &retry.Transport{Base: tr}, Policy: retry.Off()}}
		do := doer(client.Do)
		calls, held := s.occupy(t, do, s.url, busy+idle)
		letGo(t, held[busy:]...)
		if !within(patience, func() bool { return gauges(tr).Idle >= idle && gauges(tr).InUse == busy }) {
			t.Fatalf("%+v", gauges(tr))
		}
		client.CloseIdleConnections()
		if g := gauges(tr); g.Idle != 0 || g.InUse != busy {
			t.Errorf("when CloseIdleConnections returned: %+v", g)
		}
		letGo(t, held[:busy]...)
		all(t, calls...)
		if !within(soon, func() bool { return gauges(tr) == counts{} }) {
			t.Errorf("when all was done: %+v", gauges(tr))
		}
	})
}

// Shutdown lets what has begun end: requests under way, and such as wait for a connection or
// for a dial. New ones fail. Then all is gone.
func TestShutdownServesWhatHasBegun(t *testing.T) {
	atOnce(t, func(t *testing.T, r *rig, sp speech) {
		s, slow := r.depot(sp), r.depot(sp)
		h := &dialHook{takes: 0}
		tr := r.client(sp, pool.Config{MaxConnsPerHost: 2, Base: &http.Transport{DialContext: h.dial}})
		do := doer(tr.RoundTrip)
		calls, held := s.occupy(t, do, s.url, 2)
		for range 2 {
			calls = append(calls, do.start(newPatient(t, http.MethodPost, s.url, oneShot)))
		}
		wantWaiting(t, tr, 2)
		h.takes = 100 * time.Millisecond
		calls = append(calls, do.start(newPatient(t, http.MethodPost, slow.url, oneShot)))
		if !within(patience, func() bool { return h.calls.Load() == 3 }) {
			t.Fatal("no dial")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		down := make(chan error, 1)
		go func() { down <- tr.Shutdown(ctx) }()
		if !within(patience, func() bool {
			return errors.Is(do.send(newPatient(t, http.MethodGet, "http://127.0.0.1:9/", noBody)), pool.ErrClosed)
		}) {
			t.Error("new requests are taken")
		}
		letGo(t, held...)
		letGo(t, slow.next(t), s.next(t), s.next(t))
		all(t, calls...)
		if err := <-down; err != nil {
			t.Error(err)
		}
		gone(t, tr, s.url)
	})
}

// gone checks that a transport that was closed takes nothing any more.
func gone(t *testing.T, tr *pool.Transport, url string) {
	t.Helper()
	for _, f := range []front{bare, client, retrying} {
		c := newCall(t.Context(), http.MethodPost, url, oneShot)
		err := f.over(tr).send(c)
		if e := poolError(t, err); !errors.Is(err, pool.ErrClosed) || !e.Phase.Unprocessed() || e.Timeout() {
			t.Errorf("%s: %#v", f.name, e)
		}
		untouched(t, f.name, c)
	}
	if err := tr.Warm(t.Context(), url, 1); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("Warm: %v", err)
	}
	if !within(soon, func() bool { return gauges(tr) == counts{} }) {
		t.Errorf("%+v", gauges(tr))
	}
}
