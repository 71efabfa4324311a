//go:build proxies && unix

package realproxy

import (
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

const (
	// learntShare is the share of POSTs that may fail once there was time to learn the timeout.
	learntShare = 0.002
	// learntJitter is by how much a timer's closes may differ and teach nevertheless.
	learntJitter = 75 * time.Millisecond
)

// Who isn't told the proxy's timeout learns it: from its Keep-Alive header, or from the ages
// at which it closes connections. The POSTs that meet a close until then fail; later ones
// don't. Over HTTP/2 that is for proxies that send no GOAWAY before they close. A close at a
// coarse tick may come earlier than all before.
func TestIdleRaceTeachesTheTimeout(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		first := v.lesson()
		gap := func() func() time.Duration { return first.then(v.raceGaps()) }
		own := r.untold(", not told", raceLanes(), gap())
		shared := r.untold(", not told, shared", raceLanes(), gap()).shared()
		waves := r.untold(", not told, in waves", raceLanes()/2, gap()).inWaves()
		std := r.std("", raceLanes(), v.raceGaps())
		stdWaves := r.std(", in waves", raceLanes()/2, v.raceGaps()).inWaves()

		stalled := r.runEach(t, first.lasts+raceTime(), []fleet{own, std}, []fleet{shared, waves, stdWaves})
		stalled.addSlow(std.rec)
		executed := r.executions()
		fleets := []fleet{own, shared, waves, std, stdWaves}
		var all, late []outcome
		for _, f := range fleets {
			all = append(all, judge(f.rec, f.client, executed))
			late = append(late, judge(f.rec.after(first.lasts+shortIdle), f.client, executed))
		}
		logTable(t, all...)
		t.Logf("of these, after %v:", first.lasts+shortIdle)
		logTable(t, late...)
		for i, o := range late[:3] {
			all[i].wantNeverTwice(t)
			wantLearnt(t, o, executed, stalled, i > 0)
		}
		v.wantOfNetHTTP(t, all[3])
		for _, f := range fleets {
			f.close(t)
		}
	}, delayed(overHTTP1(http1Kinds...), overHTTP2(silentKinds...)))
}

// wantLearnt checks what was sent when there was time to learn. A pool that uses connections
// again sees few closes, and on a machine that stalls closes come at ages so different that
// they teach nothing. Then it checks what was sent by those who had learnt.
func wantLearnt(t *testing.T, o outcome, executed peer.Executions, s *stalls, reuses bool) {
	t.Helper()
	if reuses || len(s.atLeast(learntJitter).spans) > 0 {
		informed := judge(o.informed(), &netHTTP{}, executed)
		t.Logf("%s: %d of %d were sent with a limit in force", o.client, informed.requests, o.requests)
		switch {
		case informed.requests > 0:
			o = informed
		case len(s.atLeast(longStall).spans) > 0:
			return
		} // else no connection idled until it was closed: then none of all may fail
	}
	if !reuses {
		s = s.atLeast(longStall)
	}
	o.wantAtMost(t, learntShare, s)
}
