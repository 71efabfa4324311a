package bench

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// restartEvery is the time between two drops.
const restartEvery = 40 * time.Millisecond

// restartAway is how long nobody listens between the end of the old process and the start of
// the new one. It is less than the time between two tries of a client that waits at all.
const restartAway = 60 * time.Millisecond

// restart makes calls while the peer drops connections in several ways in turn.
//
// Each drop is one that a client can tell: idle connections are dropped while no
// call is under way, so that the FIN or RST has arrived before the next request;
// busy ones together with their answer, or by a GOAWAY that says which streams were
// taken; and what is cut in mid-flight has been executed. A request that crosses a
// FIN on the wire can't be told from one that was executed, whatever the client does,
// and would only blur the figures. Nor can one on a connection that the old process's
// listener had in its queue when it closed: nobody calls then.
func restart(ctx context.Context, r *rig) (err error) {
	var gate sync.RWMutex // read: a call is under way; write: idle connections are dropped
	quietly := func(drop func() error) func() error {
		return func() error {
			gate.Lock()
			defer gate.Unlock()
			return drop()
		}
	}
	r.settleIn(ctx)
	ways := r.peer.drops(max(1, r.callers/8), quietly)
	r.measure(func() {
		err = r.meanwhile(restartEvery, func(n int) error { return ways[n%len(ways)]() }, func() {
			r.mixed(ctx, func(c *caller, method string, due time.Time) {
				came := time.Now()
				gate.RLock()
				defer gate.RUnlock()
				c.callDue(ctx, method, due.Add(time.Since(came))) // the gate isn't the client's
			})
		})
	})
	return err
}

// mixed has POSTs made and every fourth time a GET; in a closed loop with pauses.
func (r *rig) mixed(ctx context.Context, call func(c *caller, method string, due time.Time)) {
	r.drive(ctx, func(c *caller, t turn) {
		call(c, cmp.Or(t.method, mixedMethod(t.n)), t.due)
		if !r.load.open() {
			think(ctx)
		}
	})
}

// think pauses a caller for up to 2 ms, every other time not at all, so that some
// connections are idle at any time and some are used again at once.
func think(ctx context.Context) {
	if d := rand.N(4 * time.Millisecond); d > 2*time.Millisecond {
		sleep(ctx, d-2*time.Millisecond)
	}
}
