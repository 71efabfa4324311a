package bench

import (
	"context"
	"iter"
	"sync"
	"time"
)

// burstEvery is the time between two bursts of burst-warm. The first one comes after
// half of it, or of the round if that is shorter.
const burstEvery = time.Second

// arrivals yields when requests are due, from the start of a round of some length, and
// how many at a time: rate of them in a second, evenly, and burst more with each burst.
func arrivals(rate, burst int, length time.Duration) iter.Seq2[time.Duration, int] {
	return func(yield func(time.Duration, int) bool) {
		next := min(burstEvery, length) / 2
		for i := 0; ; i++ {
			at := time.Duration(i) * time.Second / time.Duration(rate)
			for ; next <= at && next < length; next += burstEvery {
				if !yield(next, burst) {
					return
				}
			}
			if at >= length || !yield(at, 1) {
				return
			}
		}
	}
}

// openLoop makes calls when they are due, whether or not earlier ones are done, and waits
// for all. Where it comes too late, as the machine was busy, it makes at once all that are
// due; a call's time is counted from when it was due in any case.
//
// No more than mostOpen calls are under way; others wait for one of them, and their time
// runs meanwhile.
func (r *rig) openLoop(ctx context.Context, method string, due iter.Seq2[time.Duration, int]) {
	var wg sync.WaitGroup
	defer wg.Wait()
	free := callers{rig: r, idle: make(chan *caller, mostOpen)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	for at, n := range due {
		when := start.Add(at)
		if !wait(ctx, timer, time.Until(when)) {
			return
		}
		if n = r.take(n); n == 0 {
			return
		}
		for range n {
			c := free.take()
			wg.Go(func() {
				c.callDue(ctx, method, when)
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
