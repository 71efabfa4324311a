//go:build proxies && unix

package realproxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/pool"
)

const (
	minIdle     = 20
	unusedLanes = 3
	unusedBurst = 10
	// unusedLesson is after how long the timer for unused connections has shown itself often
	// enough: three times, or four where this machine is busy.
	unusedLesson = 4500 * time.Millisecond
	// unusedTimes is how often it has to show itself to be learnt, on a busy machine.
	unusedTimes = 4
)

// Proxies close connections that carry nothing after a time of their own, some of them with a
// 408 that nobody has asked for. With MinIdlePerHost most of the pool's are such. None of that
// may be a request's answer, or its failure: a POST with a body that can be read once only.
// When the time has been learnt, or is known, no request waits for a dial.
func TestUnusedConnectionsAreRenewedInTime(t *testing.T) {
	t.Run("direct", func(t *testing.T) { testUnused(t, unusedVariants(0)) })
	if capacityTime() >= longRace {
		t.Run("relay", func(t *testing.T) { testUnused(t, unusedVariants(relayDelay)) })
	}
}

// testUnused does all at the same time: each of them does little, and most of that at the begin.
func testUnused(t *testing.T, vs []variant) {
	var s stalls
	runs := runUnused(t, vs, &s)
	for _, u := range runs {
		u.end(t)
	}
	logUnused(t, &s, runs)
	for _, u := range runs {
		t.Run(u.String(), func(t *testing.T) { u.check(t, &s) })
	}
}

// runUnused is over when all has been sent. It notes the stalls of this machine.
func runUnused(t *testing.T, vs []variant, s *stalls) (runs []*unusedRun) {
	t.Helper()
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop) })
	var watching, sending sync.WaitGroup
	defer watching.Wait()
	defer end()
	watching.Go(func() { s.watch(stop) })
	for _, v := range installed(t, vs) {
		runs = append(runs, startUnused(t, v))
	}
	for _, u := range runs {
		u.send(&sending, stop)
	}
	time.AfterFunc(capacityTime(), end)
	sending.Wait()
	return runs
}

// unusedVariants are the ways on which a proxy closes unused connections: with a timer of
// its own for those, else by the idle timeout.
func unusedVariants(delay time.Duration) []variant {
	return slices.DeleteFunc(append(overHTTP1(http1Kinds...), overHTTP2(allKinds...)...), func(v variant) bool {
		return v.delay != delay || v.proto != frontproxy.H2 && !v.timesUnused()
	})
}

func (v variant) timesUnused() bool { return slices.Contains(v.kind.Unused, v.proto) }

// installed are those of the ways whose proxy is there. For another there is a test that is
// skipped or, with CI=true, fails.
func installed(t *testing.T, vs []variant) []variant {
	t.Helper()
	return slices.DeleteFunc(vs, func(v variant) bool {
		err := v.kind.Installed()
		if err != nil {
			t.Run(v.String(), func(t *testing.T) { wantInstalled(t, v.kind) })
		}
		return err != nil
	})
}

// An unusedRun is POSTs at random times, some of them at once, to a proxy that closes unused
// connections after shortIdle. The pool knows the idle timeout; where that is longer it has
// to learn the other one.
type unusedRun struct {
	*rig
	client *connwise
	rec    *record
	trace  *aheadTrace
	shown  shownTimes
	begin  time.Time
	took   time.Duration
	taught pool.HostStats // when the lesson was over
	final  pool.HostStats
	o      outcome
}

func startUnused(t *testing.T, v variant) *unusedRun {
	t.Helper()
	s := frontproxy.Settings{Idle: shortIdle, Unused: shortIdle}
	if v.timesUnused() {
		s.Idle = 2 * shortIdle
	}
	u := &unusedRun{rig: newRigOf(t, v, s, startOrigin(t)), rec: &record{client: v.String()}}
	u.client = newConnwise(u.rig)
	u.client.cfg.MinIdlePerHost = minIdle
	u.client.cfg.Trace = &pool.Trace{Retired: u.shown.note}
	u.trace = &aheadTrace{base: u.client.transport(t), oneShot: true}
	u.begin = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), requestTime)
	defer cancel()
	if err := u.client.pools[0].Warm(ctx, u.url, minIdle); err != nil {
		t.Fatalf("%v: Warm: %v", v, err)
	}
	return u
}

// send sends on a few lanes with random gaps, and now and then bursts.
func (u *unusedRun) send(wg *sync.WaitGroup, stop <-chan struct{}) {
	for range unusedLanes {
		wg.Go(func() {
			for pause(rand.N(2*time.Second), stop) {
				u.post()
			}
		})
	}
	wg.Go(func() {
		for pause(time.Second/2+rand.N(time.Second), stop) {
			var burst sync.WaitGroup
			for range unusedBurst {
				burst.Go(u.post)
			}
			burst.Wait()
		}
	})
	wg.Go(func() {
		if pause(time.Until(u.lesson()), stop) {
			u.taught = u.host()
		}
	})
}

// post may meet any of the connections, which have been idle for up to shortIdle.
func (u *unusedRun) post() {
	u.sendAfter(u.trace, http.MethodPost, u.rec, time.Now().Add(-shortIdle))
}

func (u *unusedRun) host() pool.HostStats { return u.client.pools[0].Stats().Hosts[0] }

func (u *unusedRun) lesson() time.Time { return u.begin.Add(unusedLesson) }

// end notes what was, and closes everything.
func (u *unusedRun) end(t *testing.T) {
	u.took = time.Since(u.begin)
	u.final = u.host()
	u.client.close(t)
	u.o = judge(u.rec, u.client, u.executions())
}

// rate is how many dials there were in a second after the lesson.
func (u *unusedRun) rate() float64 {
	return float64(u.final.Dials-u.taught.Dials) / (u.took - unusedLesson).Seconds()
}

// waited is how many requests waited for a dial after the lesson, but for those before which the
// machine stalled for so long that connections were not renewed in time; and how many those were.
func (u *unusedRun) waited(s *stalls) (waited, excused int) {
	return u.trace.waitedSince(u.lesson(), s.atLeast(learntJitter), shortIdle)
}

// closed is how many connections the proxy closed after the lesson.
func (u *unusedRun) closed() (n int) {
	for how, all := range u.final.IdleCloses {
		n += int(all - u.taught.IdleCloses[how])
	}
	return n
}

func logUnused(t *testing.T, s *stalls, runs []*unusedRun) {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "proxy\trequests\tfailed\texecuted twice\twaited for a dial\tafter the lesson\tdials ahead\tdials/s\tclosed by the proxy\tafter the lesson\tlearnt unused\tlimit\t")
	for _, u := range runs {
		all, _ := u.trace.waitedSince(u.begin, &stalls{}, 0)
		late, excused := u.waited(s)
		h := u.final
		fmt.Fprintf(w, "%v\t%d\t%d\t%d\t%d\t%d (%d)\t%d\t%.0f\t%v\t%d\t%v\t%v (%s)\t\n", u, u.o.requests, u.o.failed, u.o.twice, all, late, excused,
			h.DialsAhead, u.rate(), h.IdleCloses, u.closed(), h.LearntUnused.Round(time.Millisecond), h.UnusedLimit.Round(time.Millisecond), h.UnusedLimitSource)
	}
	_ = w.Flush()
	t.Log("\n" + b.String())
}

// mostAhead is how many dials ahead MinIdlePerHost's doc allows in a time: twice as many in a
// second, beside a reserve of as many.
func mostAhead(d time.Duration) uint64 { return uint64(2 * minIdle * (d.Seconds() + 1)) }

func (u *unusedRun) check(t *testing.T, s *stalls) {
	u.o.wantCleanBut(t, s.atLeast(longStall))
	if n, _ := u.waited(s); n > 0 {
		t.Errorf("%d requests waited for a dial, later than %v after the start", n, unusedLesson)
	}
	h := u.final
	if most := mostAhead(u.took); h.DialsAhead == 0 || h.DialsAhead > most {
		t.Errorf("%d dials ahead in %v, want %d at most", h.DialsAhead, u.took, most)
	}
	if n := u.closed(); n > minIdle && len(s.atLeast(learntJitter).spans) == 0 {
		t.Errorf("the proxy closed %d connections later than %v after the start", n, unusedLesson)
	}
	if !u.timesUnused() || u.proto == frontproxy.H2 {
		return // its connections are all used; or it has no timer but the one that is known
	}
	// Once all connections are used ones, as each that is dialled ahead is taken by the next
	// burst, the timer doesn't show itself any more, and there may have been too little to learn from.
	if n := u.shown.count(); h.LearntUnused == 0 && n < unusedTimes {
		t.Logf("nothing was learnt of a timer that showed itself %d times", n)
		return
	}
	least := shortIdle * 9 / 10
	if len(s.atLeast(learntJitter).spans) > 0 {
		least /= 2 // this process learnt late that a connection was open
	}
	if d := h.LearntUnused; d < least || d > shortIdle*13/10 || h.UnusedLimit == 0 || h.UnusedLimit >= d {
		t.Errorf("learnt that unused connections are closed after %v, limit %v; the proxy's timer is %v", d, h.UnusedLimit, shortIdle)
	}
	if n := h.IdleCloses["408"]; u.kind.Says408 != (n > 0) {
		t.Errorf("%d connections ended with a 408", n)
	}
}
