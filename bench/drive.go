package bench

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"sync"
	"time"
)

// A turn is a call to be made.
type turn struct {
	n      int       // counts a caller's, or in an open loop all of the round's, from 0
	due    time.Time // latency counts from then
	method string    // empty: the scenario's
}

// busy makes calls as the run's load says: in a closed loop every caller makes one after the
// other until the round is over, and one at least, in an open one they are made when they are due.
//
// It's the load of all scenarios that don't have one of their own.
func (r *rig) busy(ctx context.Context, method string) {
	r.drive(ctx, func(c *caller, t turn) { c.callDue(c.below(ctx), cmp.Or(t.method, method), t.due) })
}

// settleIn makes two requests for each caller, or as many as an open load may have at once,
// that open and settle the connections and are not measured. A target is spared them, and
// they are left out where they would be half of the calls or more.
func (r *rig) settleIn(ctx context.Context) {
	if n := max(r.callers, r.load.atOnce()); r.peer != nil && r.limit > int64(4*n) {
		r.wave(ctx, r.take(n), http.MethodGet)
		r.wave(ctx, r.take(n), http.MethodGet)
	}
}

// drive is busy for scenarios that do more than call.
func (r *rig) drive(ctx context.Context, call func(*caller, turn)) {
	if r.load.open() {
		r.open(ctx, r.load.arrivals(r.plan.Seed, r.round, r.length), call)
		return
	}
	r.each(func(c *caller) {
		if ctx.Err() == nil && r.take(1) > 0 { // where the machine has been busy with other things until the round's end, too
			call(c, turn{due: time.Now()})
		}
		for n := 1; r.more(ctx, 1) > 0; n++ {
			call(c, turn{n: n, due: time.Now()})
		}
	})
}

// openLoop makes calls when they are due.
func (r *rig) openLoop(ctx context.Context, method string, due iter.Seq2[time.Duration, int]) {
	r.open(ctx, func(yield func(arrival) bool) {
		for at, n := range due {
			if !yield(arrival{at: at, n: n}) {
				return
			}
		}
	}, func(c *caller, t turn) { c.callDue(ctx, method, t.due) })
}

// overdue is how long after the end of a round calls are still made that were due in it.
const overdue = 10 * time.Second

// open makes calls when they are due, whether or not earlier ones are done, and waits for
// all. Where it comes too late, as the machine was busy, it makes at once all that are due;
// a call's time is counted from when it was due in any case.
//
// No more than mostOpen calls are under way; others wait for one of them, and their time
// runs meanwhile. Where more are due than the server or the machine can take, what is left
// some time after the round's end isn't made, and counted.
func (r *rig) open(ctx context.Context, due iter.Seq[arrival], call func(*caller, turn)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	free := callers{rig: r, idle: make(chan *caller, mostOpen)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	made := 0
	for a := range due {
		when := start.Add(a.at)
		if !wait(ctx, timer, time.Until(when)) {
			return
		}
		n := r.take(a.n)
		if n == 0 {
			return
		}
		for i := range n {
			if time.Since(start) > r.length+overdue {
				r.unmade += int64(n - i)
				break
			}
			c, t := free.take(), turn{n: made, due: when, method: a.method}
			made++
			wg.Go(func() {
				call(c, t)
				free.idle <- c
			})
		}
	}
}

// wait waits for d on a timer that is used again; false: ctx has ended.
func wait(ctx context.Context, t *time.Timer, d time.Duration) bool {
	if d > 0 {
		t.Reset(d)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// callers are used again, as their requests are: what is counted as allocated is to be
// the client's. take is for one goroutine.
type callers struct {
	rig  *rig
	idle chan *caller // has room for all
	made int
}

func (s *callers) take() *caller {
	if s.made == mostOpen {
		return <-s.idle
	}
	select {
	case c := <-s.idle:
		return c
	default:
		s.made++
		return s.rig.caller()
	}
}
