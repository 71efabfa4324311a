//go:build proxies && unix

package realproxy

import (
	"testing"

	"example.com/connwise/internal/frontproxy"
)

// A POST that gets a sign of life before its body is sent can't lose the race against the
// proxy's timeout, also while that isn't known: if the connection ends, its body has not been
// sent, and it can be sent again. Over HTTP/2 the sign of life is an answered PING, which
// delays the proxy's close, if its timer goes by what comes on the connection.
func TestIdleRaceWithASignOfLife(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		gap := v.raceGaps()
		own := r.confirming(", confirming", raceLanes(), gap)
		waves := r.confirming(", confirming, in waves", raceLanes()/2, gap).inWaves()
		std := r.std("", raceLanes(), gap)

		stalled := r.run(t, raceTime(), own, waves, std)
		stalled.addSlow(std.rec)
		executed := r.executions()
		of := func(f fleet) outcome { return judge(f.rec, f.client, executed) }
		logTable(t, of(own), of(waves), of(std))
		for _, o := range []outcome{of(own), of(waves)} {
			if v.kind.DeafIdle && v.proto == frontproxy.H2 {
				o.wantNeverTwice(t)
				o.wantMayHaveRun(t, executed)
				continue
			}
			o.wantCleanBut(t, stalled.atLeast(longStall))
		}
		v.wantOfNetHTTP(t, of(std))
		for _, f := range []fleet{own, waves, std} {
			f.close(t)
		}
	}, delayed(overHTTP1(http1Kinds...), overHTTP2(silentKinds...)))
}
