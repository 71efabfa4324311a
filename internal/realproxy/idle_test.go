//go:build proxies && unix

package realproxy

import (
	"testing"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// A POST that is sent as the proxy closes its idle connection fails in net/http, and
// nothing tells whether it was executed. Avoiding that is what ProxyIdleTimeout is for:
// near the timeout a connection isn't reused, below the limit it is. What the proxy closed
// before a request came is seen without being told any timeout. Over HTTP/2 a GOAWAY before
// the close proves that a POST was not taken, and it is sent on another connection.
func TestIdleRaceFailsNoPOST(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		race := r.fleet("", raceLanes(), raceGap)
		short := r.fleet(", short gaps", moreLanes, gaps(0.5, 0.84))
		edge := r.fleet(", gaps about its limit", moreLanes, gaps(0.85, 0.95))
		long := r.untold(", not told, long gaps", moreLanes, gaps(v.kind.Closed(), v.kind.Closed()+0.2))
		blind := r.untold(", not told", r.blindLanes(), raceGap)
		std := r.std("", raceLanes(), raceGap)

		stalled := r.run(t, raceTime(), race, short, edge, long, blind, std)
		stalled.addSlow(std.rec)
		executed := r.executions()
		of := func(f fleet) outcome { return judge(f.rec, f.client, executed) }
		logTable(t, of(race), of(short), of(edge), of(long), of(blind), of(std))

		of(race).wantCleanBut(t, stalled.atLeast(longStall)) // no connection is reused here
		of(short).wantCleanBut(t, stalled)
		of(edge).wantCleanBut(t, stalled)
		of(long).wantCleanBut(t, stalled)
		v.wantOfBlind(t, of(blind), executed, stalled.atLeast(longStall))
		v.wantOfNetHTTP(t, of(std))
		v.wantReuse(t, short, edge, long)
		for _, f := range []fleet{race, short, edge, long, blind, std} {
			f.close(t)
		}
	}, mostHTTP1(), overHTTP2(allKinds...), alsoOverTLS())
}

// alsoOverTLS are ways of HTTP/1.1 through the other kinds, for long runs: what holds there
// holds everywhere.
func alsoOverTLS() []variant {
	if raceTime() < longRace {
		return nil
	}
	return delayed(variants([]frontproxy.Kind{frontproxy.Nghttpx, frontproxy.H2O, frontproxy.Lighttpd, frontproxy.Hitch, frontproxy.ATS}, frontproxy.TLS))
}

// blindLanes is how many lanes there are of a client that meets the race unprepared. Over
// HTTP/1.1 nothing would be learnt from that: some POSTs fail, and nobody can tell why.
func (v variant) blindLanes() int {
	if v.proto != frontproxy.H2 {
		return 0
	}
	return raceLanes()
}

// wantOfBlind checks what holds without any timeout: a GOAWAY proves each POST that crosses
// a close. Where none comes, the POST may have been executed, and is not sent again.
func (v variant) wantOfBlind(t *testing.T, o outcome, executed peer.Executions, s *stalls) {
	t.Helper()
	if o.requests == 0 {
		return
	}
	if v.kind.SilentIdle {
		o.wantNeverTwice(t)
		o.wantMayHaveRun(t, executed)
		return
	}
	o.wantCleanBut(t, s)
}

// wantOfNetHTTP checks that the race was run, and that no proxy sends a request twice.
// Over HTTP/2 net/http itself may send a POST again that has been executed.
func (v variant) wantOfNetHTTP(t *testing.T, o outcome) {
	t.Helper()
	if v.proto != frontproxy.H2 {
		o.wantNeverTwice(t)
	}
	if v.delay > 0 && v.losesRace() && !v.kind.Coarse && o.failed == 0 {
		t.Error("net/http had no failure: the race was not run")
	}
}

func (v variant) wantReuse(t *testing.T, short, edge, long fleet) {
	t.Helper()
	if n, all := short.total(reused), short.rec.within(shortIdle*86/100); float64(n) < 0.98*float64(all) {
		t.Errorf("%d requests reused a connection, want at least 98 %% of the %d with a short gap", n, all)
	}
	if n, all := edge.total(reused), len(edge.rec.sent)-edge.lanes; n >= uint64(all) {
		t.Errorf("%d of %d requests reused a connection, though many gaps were past the idle limit", n, all)
	}
	if long.total(foundClosed) == 0 && !v.kind.Tells { // who was told closes its connections before
		t.Error("no connection was found closed by the proxy")
	}
}

// losesRace tells whether a POST that crosses an idle close fails in net/http. Not where
// a GOAWAY comes before the close and tells that the POST wasn't taken.
func (v variant) losesRace() bool { return v.proto != frontproxy.H2 || v.kind.SilentIdle }

func reused(t pool.Totals) uint64 { return t.Reused }
func foundClosed(t pool.Totals) uint64 {
	return t.ClosedBy[pool.ReasonPeerClosed] + t.ClosedBy[pool.ReasonGoAway]
}
