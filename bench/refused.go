package bench

import (
	"cmp"
	"context"
	"sync"
	"time"

	"example.com/connwise/internal/peer"
)

// What refused's peer does: of each refuseEvery requests it refuses the last refuseLength, and
// every limitEvery it changes between maxStreams and fewStreams.
const (
	refuseEvery  = 400
	refuseLength = 16
	refuseMost   = 2
	fewStreams   = 4
	limitEvery   = 50 * time.Millisecond
)

// refused is HTTP/2 with a server that protects itself. No request is refused more than
// refuseMost times, so that a client which tries three times gets through.
var refused = scenario{
	name:   "refused",
	quick:  []string{"h2"},
	about:  "three POSTs to a GET in a closed loop over HTTP/2, to a peer that takes 1 ms to answer and refuses streams (REFUSED_STREAM): the last 16 of each 400 requests; and every 50 ms it lowers SETTINGS_MAX_CONCURRENT_STREAMS from 128 to 4, or raises it again, and refuses what is more than that at once. It refuses no request more than twice",
	protos: []string{"h2", "h2c"},
	loads:  true,
	faults: func(*plan) faults {
		return faults{
			delay: time.Millisecond,
			more2: func(f *peer.H2Faults) {
				f.Waves = peer.H2Waves{Every: refuseEvery, Length: refuseLength, Most: refuseMost}
			},
		}
	},
	callers: func(p *plan) int { return p.Workers },
	run: func(ctx context.Context, r *rig) (err error) {
		r.measure(func() {
			err = r.meanwhile(limitEvery, func(n int) error {
				return r.peer.h2.Limit([]int{fewStreams, maxStreams}[n%2])
			}, func() { r.driveMixed(ctx) })
		})
		return err
	},
}

// driveMixed is busy with POSTs and GETs.
func (r *rig) driveMixed(ctx context.Context) {
	r.drive(ctx, func(c *caller, t turn) { c.callDue(ctx, cmp.Or(t.method, mixedMethod(t.n)), t.due) })
}

// meanwhile runs f, and act again and again until f has returned: the first time after the
// given time, with n from 0. It returns act's first error, after which act isn't called again.
func (r *rig) meanwhile(every time.Duration, act func(n int) error, f func()) (err error) {
	stop := make(chan struct{})
	var acts sync.WaitGroup
	acts.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; err == nil; n++ {
			select {
			case <-stop:
				return
			case <-tick.C:
				err = act(n)
			}
		}
	})
	f()
	close(stop)
	acts.Wait()
	return err
}
