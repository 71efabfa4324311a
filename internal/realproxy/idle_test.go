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
		r := newRig(t, v)
		untold := newConnwise(r)
		untold.cfg.ProxyIdleTimeout = 0
		short, edge := newConnwise(r), newConnwise(r)
		fleets := []fleet{
			{newConnwise(r), &record{client: "connwise"}, raceLanes, raceGap},
			{short, &record{client: "connwise, short gaps"}, moreLanes, gaps(0.5, 0.8)},
			{edge, &record{client: "connwise, gaps about its limit"}, moreLanes, gaps(0.85, 0.95)},
			{untold, &record{client: "connwise, not told, long gaps"}, moreLanes, gaps(1.2, 1.4)},
			{newNetHTTP(r), &record{client: "net/http"}, raceLanes, raceGap},
		}
		std := len(fleets) - 1

		r.run(t, fleets)
		executed := r.executions()
		outcomes := make([]outcome, len(fleets))
		for i, f := range fleets {
			outcomes[i] = judge(f.rec, f.client, executed)
		}
		logTable(t, outcomes...)
		for _, o := range outcomes[:std] {
			o.wantClean(t)
		}
		outcomes[std].wantNeverTwice(t)
		if v.delay > 0 && outcomes[std].failed == 0 {
			t.Error("net/http had no failure: the race was not run")
		}
		// All but the first of each lane could be reused; a stall of this machine may cost some.
		if n, most := short.reused(), len(fleets[1].rec.sent)-moreLanes; n < uint64(most*9/10) {
			t.Errorf("connections were reused for %d requests, of %d whose gap was short", n, most)
		}
		if n, most := edge.reused(), len(fleets[2].rec.sent)-moreLanes; n == 0 || n == uint64(most) {
			t.Errorf("connections were reused for %d requests of %d, want some: the gaps are about the idle limit", n, most)
		}
		if n := untold.sum(func(t pool.Totals) uint64 { return t.ClosedBy[pool.ReasonPeerClosed] }); n == 0 {
			t.Error("no connection was found closed by the proxy")
		}
		for _, f := range fleets {
			f.close(t)
		}
	}, nginx, haproxy)
}

// run sends on all lanes for raceTime and waits until they have ended.
func (r *rig) run(t *testing.T, fleets []fleet) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, f := range fleets {
		for range f.lanes {
			rt := f.transport(t)
			wg.Go(func() {
				for wait := gaps(0, 1)(); pause(wait, stop); wait = f.gap() {
					r.send(rt, http.MethodPost, f.rec)
				}
			})
		}
	}
	time.AfterFunc(raceTime, func() { close(stop) })
	wg.Wait()
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
		return time.Duration((lo + rand.Float64()*(hi-lo)) * float64(proxyIdle))
	}
}
