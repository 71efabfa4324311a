//go:build proxies && unix

package realproxy

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	raceTime  = 8 * time.Second
	raceLanes = 60 // of each client
	calmLanes = 20
)

// A POST that is sent as the proxy closes its idle connection fails in net/http, and
// nothing tells whether it was executed. Avoiding that is what ProxyIdleTimeout is for.
func TestIdleRaceFailsNoPOST(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v)
		race, calm, std := newConnwise(r), newConnwise(r), newNetHTTP(r)
		raceRec := &record{client: "connwise"}
		calmRec := &record{client: "connwise, short gaps"}
		stdRec := &record{client: "net/http"}

		stop := make(chan struct{})
		var wg sync.WaitGroup
		for i := range raceLanes {
			wg.Go(r.lane(t, race, raceGap, raceRec, stop))
			wg.Go(r.lane(t, std, raceGap, stdRec, stop))
			if i < calmLanes {
				wg.Go(r.lane(t, calm, calmGap, calmRec, stop))
			}
		}
		time.AfterFunc(raceTime, func() { close(stop) })
		wg.Wait()

		executed := r.executions()
		ours, short, theirs := judge(raceRec, race, executed), judge(calmRec, calm, executed), judge(stdRec, std, executed)
		logTable(t, ours, short, theirs)
		ours.wantClean(t)
		short.wantClean(t)
		theirs.wantNeverTwice(t)
		// All but the first of each lane could be reused; a stall of this machine may cost some.
		if n, most := calm.reused(), uint64(short.requests-calmLanes); n < most*9/10 {
			t.Errorf("connwise reused connections for %d requests, of %d whose gap was short", n, most)
		}
		if v.delay > 0 && theirs.failed == 0 {
			t.Error("net/http had no failure: the race was not run")
		}
		race.close(t)
		calm.close(t)
		std.close(t)
	}, nginx, haproxy)
}

// lane returns a loop that sends one POST after the other on a transport, and so a
// connection, of its own, with a gap in between, until stop.
func (r *rig) lane(t *testing.T, c client, gap func() time.Duration, rec *record, stop <-chan struct{}) func() {
	t.Helper()
	rt := c.transport(t)
	return func() {
		for wait := between(0, proxyIdle); pause(wait, stop); wait = gap() {
			r.send(rt, http.MethodPost, rec)
		}
	}
}

// raceGap is about the proxy's timeout: mostly within 1.5 % of it, else within 10 %.
func raceGap() time.Duration {
	if rand.Float64() < 0.7 {
		return between(proxyIdle*985/1000, proxyIdle*1015/1000)
	}
	return between(proxyIdle*9/10, proxyIdle*11/10)
}

// calmGap is clearly shorter than the proxy's timeout.
func calmGap() time.Duration { return between(proxyIdle/2, proxyIdle*8/10) }

func between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(rand.Int64N(int64(hi-lo)))
}
