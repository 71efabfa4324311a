//go:build proxies && unix

package realproxy

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
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
// before a request came is seen without being told any timeout. Over HTTP/2 a GOAWAY before
// the close proves that a POST was not taken, and it is sent on another connection.
func TestIdleRaceFailsNoPOST(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		race := r.fleet("", raceLanes, raceGap)
		short := r.fleet(", short gaps", moreLanes, gaps(0.5, 0.8))
		edge := r.fleet(", gaps about its limit", moreLanes, gaps(0.85, 0.95))
		long := r.untold(", not told, long gaps", moreLanes, gaps(v.kind.closed(), v.kind.closed()+0.2))
		blind := r.untold(", not told", r.blindLanes(), raceGap)
		std := fleet{newNetHTTP(r), &record{client: "net/http"}, raceLanes, raceGap}

		stalled := r.run(t, race, short, edge, long, blind, std)
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
		wantReuse(t, short, edge, long)
		for _, f := range []fleet{race, short, edge, long, blind, std} {
			f.close(t)
		}
	}, overHTTP1(nginx, haproxy), overHTTP2(allKinds...))
}

// fleet returns one of connwise that knows the proxy's idle timeout.
func (r *rig) fleet(name string, lanes int, gap func() time.Duration) fleet {
	return fleet{newConnwise(r), &record{client: "connwise" + name}, lanes, gap}
}

// untold is fleet, but it doesn't know any timeout.
func (r *rig) untold(name string, lanes int, gap func() time.Duration) fleet {
	c := newConnwise(r)
	c.cfg.ProxyIdleTimeout = 0
	return fleet{c, &record{client: "connwise" + name}, lanes, gap}
}

// blindLanes is how many lanes there are of a client that meets the race unprepared. Over
// HTTP/1.1 nothing would be learnt from that: some POSTs fail, and nobody can tell why.
func (v variant) blindLanes() int {
	if v.proto != overH2 {
		return 0
	}
	return raceLanes
}

// wantOfBlind checks what holds without any timeout: a GOAWAY proves each POST that crosses
// a close. Where none comes, the POST may have been executed, and is not sent again.
func (v variant) wantOfBlind(t *testing.T, o outcome, executed peer.Executions, s *stalls) {
	t.Helper()
	if o.requests == 0 {
		return
	}
	if v.kind.silentIdle {
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
	if v.proto != overH2 {
		o.wantNeverTwice(t)
	}
	if v.delay > 0 && v.losesRace() && o.failed == 0 {
		t.Error("net/http had no failure: the race was not run")
	}
}

func wantReuse(t *testing.T, short, edge, long fleet) {
	t.Helper()
	if short.total(reused) == 0 {
		t.Error("no connection was reused, though the gaps were short")
	}
	if n, all := edge.total(reused), len(edge.rec.sent)-edge.lanes; n >= uint64(all) {
		t.Errorf("%d of %d requests reused a connection, though many gaps were past the idle limit", n, all)
	}
	if long.total(foundClosed) == 0 {
		t.Error("no connection was found closed by the proxy")
	}
}

// losesRace tells whether a POST that crosses an idle close fails in net/http. Not where
// a GOAWAY comes before the close and tells that the POST wasn't taken.
func (v variant) losesRace() bool { return v.proto != overH2 || v.kind.silentIdle }

// total sums a counter of a connwise fleet.
func (f fleet) total(counter func(pool.Totals) uint64) uint64 {
	return f.client.(*connwise).sum(counter)
}

func reused(t pool.Totals) uint64 { return t.Reused }
func foundClosed(t pool.Totals) uint64 {
	return t.ClosedBy[pool.ReasonPeerClosed] + t.ClosedBy[pool.ReasonGoAway]
}

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
	var last attempt
	for wait := gaps(0, 1)(); pause(wait, stop); wait = f.gap() {
		last = r.sendAfter(rt, http.MethodPost, f.rec, last.begin)
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
