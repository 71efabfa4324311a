//go:build proxies && unix

package realproxy

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

const (
	raceTime  = 8 * time.Second
	raceLanes = 60
	moreLanes = 20
	maxGap    = shortIdle * 14 / 10
)

// A fleet is lanes of one client: each has a transport, and so a connection, of its own
// and sends one POST after the other with a gap in between.
type fleet struct {
	client
	rec   *record
	lanes int
	gap   func() time.Duration
}

// A POST that is sent as the proxy closes its idle connection fails in net/http, and
// nothing tells whether it was executed. Avoiding that is what ProxyIdleTimeout is for:
// near the timeout a connection isn't reused, below the limit it is. What the proxy closed
// before a request came is seen without being told any timeout.
func TestIdleRaceFailsNoPOST(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		notTold := newConnwise(r)
		notTold.cfg.ProxyIdleTimeout = 0
		race := fleet{newConnwise(r), &record{client: "connwise"}, raceLanes, raceGap}
		short := fleet{newConnwise(r), &record{client: "connwise, short gaps"}, moreLanes, gaps(0.5, 0.8)}
		edge := fleet{newConnwise(r), &record{client: "connwise, gaps about its limit"}, moreLanes, gaps(0.85, 0.95)}
		long := fleet{notTold, &record{client: "connwise, not told, long gaps"}, moreLanes, gaps(1.2, 1.4)}
		std := fleet{newNetHTTP(r), &record{client: "net/http"}, raceLanes, raceGap}

		stalled := r.run(t, race, short, edge, long, std)
		stalled.addSlow(std.rec)
		executed := r.executions()
		of := func(f fleet) outcome { return judge(f.rec, f.client, executed) }
		logTable(t, of(race), of(short), of(edge), of(long), of(std))

		of(race).wantClean(t) // no connection is reused here: not even a stall can hurt
		of(short).wantCleanBut(t, stalled)
		of(edge).wantCleanBut(t, stalled)
		of(long).wantCleanBut(t, stalled)
		of(std).wantNeverTwice(t)
		if v.delay > 0 && of(std).failed == 0 {
			t.Error("net/http had no failure: the race was not run")
		}
		if short.total(reused) == 0 {
			t.Error("no connection was reused, though the gaps were short")
		}
		if n, all := edge.total(reused), len(edge.rec.sent)-moreLanes; n >= uint64(all) {
			t.Errorf("%d of %d requests reused a connection, though many gaps were past the idle limit", n, all)
		}
		if long.total(foundClosed) == 0 {
			t.Error("no connection was found closed by the proxy")
		}
		for _, f := range []fleet{race, short, edge, long, std} {
			f.close(t)
		}
	}, nginx, haproxy)
}

// total sums a counter of a connwise fleet.
func (f fleet) total(counter func(pool.Totals) uint64) uint64 {
	return f.client.(*connwise).sum(counter)
}

func reused(t pool.Totals) uint64      { return t.Reused }
func foundClosed(t pool.Totals) uint64 { return t.ClosedBy[pool.ReasonPeerClosed] }

// run sends on all lanes for raceTime, waits until they have ended, and tells when this
// machine was too busy.
func (r *rig) run(t *testing.T, fleets ...fleet) *stalls {
	t.Helper()
	stop := make(chan struct{})
	var s stalls
	var wg sync.WaitGroup
	wg.Go(func() { s.watch(stop) })
	for _, f := range fleets {
		for range f.lanes {
			rt := f.transport(t)
			wg.Go(func() { r.lane(rt, f, stop) })
		}
	}
	time.AfterFunc(raceTime, func() { close(stop) })
	wg.Wait()
	return &s
}

// lane sends one POST after the other until stop. It begins at a random moment, so that
// the lanes are spread over time.
func (r *rig) lane(rt http.RoundTripper, f fleet, stop <-chan struct{}) {
	for wait := gaps(0, 1)(); pause(wait, stop); wait = f.gap() {
		r.send(rt, http.MethodPost, f.rec)
	}
}

// raceGap is about the proxy's timeout: mostly within 1.5 % of it, else within 10 %.
func raceGap() time.Duration {
	if rand.Float64() < 0.7 {
		return gaps(0.985, 1.015)()
	}
	return gaps(0.9, 1.1)()
}

// gaps returns random gaps from lo to hi, as shares of the proxy's timeout.
func gaps(lo, hi float64) func() time.Duration {
	return func() time.Duration {
		return time.Duration((lo + rand.Float64()*(hi-lo)) * float64(shortIdle))
	}
}
