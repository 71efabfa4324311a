package bench

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"
)

// queueDelay is how long queue's peer takes to answer, where Options.Delay says nothing else.
const queueDelay = 20 * time.Millisecond

// queue is a server that is slow and has room for few.
var queue = scenario{
	name:    "queue",
	about:   "open loop of GETs to a server that takes 20 ms to answer (--delay), with 16 connections at most (--max-conns), over HTTP/2 one with as many streams: 70% of what that can carry, and every second, first after half of one, a fifth of a second's worth at once, which has to wait (or as --load says). Connwise's calls wait 5 s at most (--max-wait). overtaken counts those answered 20 ms or more behind one that came as much later, the waits are latencies less the 20 ms",
	slow:    true,
	loads:   true,
	quick:   []string{"h1"},
	traced:  true,
	faults:  func(p *plan) faults { return faults{delay: p.queueDelay()} },
	callers: func(*plan) int { return mostOpen },
	room:    func(p *plan) int { return p.queueRoom() },
	run:     queued,
}

func (p *plan) queueDelay() time.Duration { return cmp.Or(p.own.Delay, queueDelay) }
func (p *plan) queueRoom() int            { return cmp.Or(p.MaxConns, queuedConns) }

// queueLoad returns how many calls in a second queue makes, and how many more at once each
// second: 0.9 of what there is room for, taken together.
func (p *plan) queueLoad() (rate, burst int) {
	capacity := float64(p.queueRoom()) / p.queueDelay().Seconds()
	return max(1, int(0.7*capacity)), max(1, int(0.2*capacity))
}

// queued makes calls for which there isn't room at all times, on connections that are open.
func queued(ctx context.Context, r *rig) error {
	rate, burst := r.plan.queueLoad()
	if n := r.plan.queueRoom(); r.limit > int64(4*n) {
		r.wave(ctx, r.take(n), http.MethodGet)
	}
	r.lane = &lane{patience: r.plan.queueDelay()}
	r.measure(func() {
		if r.load.open() {
			r.busy(ctx, http.MethodGet)
			return
		}
		r.openLoop(ctx, http.MethodGet, arrivals(rate, burst, r.length))
	})
	return nil
}

// A lane keeps when calls came and when they were done, to see who overtook whom.
type lane struct {
	patience time.Duration // that makes two calls one behind the other
	mu       sync.Mutex
	calls    []passage
}

type passage struct{ due, done time.Time }

func (l *lane) add(due, done time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, passage{due, done})
}

// overtaken counts the calls that were done by the lane's patience or more behind one which
// came as much later. With less between them, two that began in turn may end out of turn.
func (l *lane) overtaken() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.calls, func(a, b passage) int { return a.due.Compare(b.due) })
	n, next := int64(0), len(l.calls)
	first := time.Unix(math.MaxInt32, 0) // when the first of those from next on was done
	for i := len(l.calls) - 1; i >= 0; i-- {
		for next > 0 && l.calls[next-1].due.Sub(l.calls[i].due) >= l.patience {
			next--
			if done := l.calls[next].done; done.Before(first) {
				first = done
			}
		}
		if l.calls[i].done.Sub(first) >= l.patience {
			n++
		}
	}
	return n
}
