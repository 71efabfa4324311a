package probe

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// hold runs one for n connections at the same time, begun at staggered moments, and sums up
// what became of them.
func (m *measurement) hold(ctx context.Context, what string, n int, one func(context.Context) (ending, error)) *Endings {
	var mu sync.Mutex // guards the following
	var all []ending
	var errs []error
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if !pause(ctx, m.p.opt.Spread*time.Duration(i)/time.Duration(n)) {
				return
			}
			e, err := one(ctx)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				all = append(all, e)
				m.tell(what, e, len(all))
			case ctx.Err() == nil:
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 {
		m.remark("%s: %d of %d connections failed: %v", what, len(errs), n, errs[0])
	}
	sum := summarize(all, m.Proto == H2 || m.Proto == H2C)
	sum.Failed = len(errs)
	if sum.sameMoment() {
		m.remark("%s: all connections ended at the same moment at different ages: a restart, a timer that ticks coarsely, or this machine stood still; a second run tells", what)
	}
	return sum
}

// tell tells of the first connection that ended.
func (m *measurement) tell(what string, e ending, nth int) {
	if nth > 1 || !e.ended() {
		return
	}
	m.p.note(func(pr *Progress) {
		pr.Known = append(pr.Known, fmt.Sprintf("%s %s %v", m.Proto, what, Millis(e.age())))
	})
}
