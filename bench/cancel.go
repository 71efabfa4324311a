package bench

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// cancelDelay is how long cancel's peer takes to answer, and cancelBody how much: more
	// than clients read ahead, so that there is something to cancel in the middle of it.
	cancelDelay = 2 * time.Millisecond
	cancelBody  = 64 << 10
	// cancelLimit is the most time for a call that isn't cancelled.
	cancelLimit = 10 * time.Second
	// leftLimit is how long connections may take to go when nothing needs them.
	leftLimit = 2 * time.Second
)

// cancelStorm has half of the calls cancelled, and looks at what becomes of the others.
var cancelStorm = scenario{
	name:    "cancel",
	about:   "closed loop of GETs and POSTs, half of which their callers give up: before the call, at any moment of the 2 ms that the server takes to answer and a little later, or in the middle of an answer of 64 KiB. Those don't count as failed, and may be executed, once. All others have to go on unharmed, every byte of their answers as it was sent. left open counts the connections that remain when everything has ended and the client was told to close the idle ones",
	loads:   true,
	quick:   []string{"h2"},
	limit:   cancelLimit,
	faults:  func(*plan) faults { return faults{delay: cancelDelay, body: cancelBody, upload: smallBody} },
	callers: func(p *plan) int { return p.Workers },
	run:     storm,
}

func storm(ctx context.Context, r *rig) error {
	r.storm = true
	r.measure(func() {
		r.drive(ctx, func(c *caller, t turn) {
			if t.method == "" {
				t.method = []string{http.MethodGet, http.MethodPost}[rand.N(2)]
			}
			if rand.N(2) == 0 || r.full() {
				c.callDue(ctx, t.method, t.due)
			} else {
				c.giveUp(ctx, t)
			}
		})
	})
	n, err := r.left(ctx, leftLimit)
	r.leftOpen = n
	return err
}

// giveUp makes a call and cancels it at a moment of chance: of eight, one before it begins,
// two in the middle of the answer, and the others while they wait, if the answer doesn't
// come before.
func (c *caller) giveUp(ctx context.Context, t turn) {
	id := c.rig.ids.next(t.method)
	mine, cancel := context.WithCancel(ctx)
	defer cancel()
	switch rand.N(8) {
	case 0:
		cancel()
	case 1, 2:
		c.seen.half, c.seen.halfway = cancelBody/2, cancel
	default:
		defer time.AfterFunc(rand.N(cancelDelay*5/4), cancel).Stop()
	}
	status, err := c.roundTrip(mine, t.method, id)
	c.seen.halfway = nil
	if err != nil && mine.Err() != nil && ctx.Err() == nil {
		c.rig.givenUp(id)
		return
	}
	c.record(ctx, id, t.due, status, err)
}

// givenUp records a call that was cancelled and returned an error.
func (r *rig) givenUp(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, id)
}

// full says whether as many calls were cancelled as a round keeps: then no more are.
func (r *rig) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ended) >= maxFailedIDs
}

// left returns how many connections are open when no call is under way and the client closes
// those that are idle, with time up to limit for the last ones to go. Nil: the client can't be told.
func (r *rig) left(ctx context.Context, limit time.Duration) (*int64, error) {
	if _, ok := r.client.(interface{ CloseIdleConnections() }); !ok {
		return nil, nil
	}
	for start := time.Now(); ; sleep(ctx, settlePoll/4) {
		r.cool()
		n, err := r.count()
		if err != nil || ctx.Err() != nil {
			return nil, err
		}
		if n.Open == 0 || time.Since(start) > limit {
			return new(int64(n.Open)), nil
		}
	}
}
