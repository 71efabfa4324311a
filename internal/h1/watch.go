package h1

import (
	"context"
	"time"

	"example.com/connwise/internal/wire"
)

// watch ends the exchange with ctx, and with the request's deprecated Cancel channel,
// which http.Client uses for its Timeout with round trippers that aren't its own.
func (x *Exchange) watch(ctx context.Context) {
	if ctx.Done() != nil {
		x.unhook = context.AfterFunc(ctx, func() { x.failNow(wire.EndCancelled, wire.Ended(ctx)) })
	}
	if cancel := x.req.Cancel; cancel != nil {
		gone := make(chan struct{})
		x.gone = gone
		go func() {
			select {
			case <-cancel:
				x.failNow(wire.EndCancelled, wire.ErrCanceled)
			case <-gone:
			}
		}()
	}
}

// unwatch ends what watches over the exchange from outside: context and Cancel channel. It
// is called once.
func (x *Exchange) unwatch() {
	if x.unhook != nil {
		x.hookRuns = !x.unhook()
	}
	if x.gone != nil {
		close(x.gone)
	}
}

// alarms are an exchange's. Most need none.
type alarms struct {
	head   alarm // on the answer's head, and on what has to end soon
	wstall alarm
	rstall alarm
}

// offLocked switches all of them off. It may be called for nil.
func (a *alarms) offLocked() {
	if a != nil {
		a.head.offLocked()
		a.wstall.offLocked()
		a.rstall.offLocked()
	}
}

// alarmsLocked makes them when they are needed. x.mu is held.
func (x *Exchange) alarmsLocked() *alarms {
	if x.alarms == nil {
		x.alarms = new(alarms)
	}
	return x.alarms
}

// An alarm fails its exchange when it isn't switched off in time. It doesn't rely on
// deadlines, which not every net.Conn has, but closes the connection.
type alarm struct {
	t   *time.Timer
	due time.Time // a timer that went off for an earlier setting comes too soon for this
	on  bool
	why wire.End
	err error
	lim *wire.TimeoutError // made once: a stall limit is set for every Read or Write
}

// setLocked sets a to go off after d and fail x with why and err. x.mu is held.
func (x *Exchange) setLocked(a *alarm, d time.Duration, why wire.End, err error) {
	a.on, a.why, a.err = true, why, err
	a.due = time.Now().Add(d)
	if a.t == nil {
		a.t = time.AfterFunc(d, func() { x.ring(a) })
	} else {
		a.t.Reset(d)
	}
}

// timeoutLocked sets a to go off after d with a wire.TimeoutError. x.mu is held.
func (x *Exchange) timeoutLocked(a *alarm, d time.Duration, what string) {
	if a.lim == nil {
		a.lim = &wire.TimeoutError{What: what, After: d}
	}
	x.setLocked(a, d, wire.EndTimeout, a.lim)
}

func (a *alarm) offLocked() {
	if a.on {
		a.on = false
		a.t.Stop()
	}
}

// ring is what a's timer does.
func (x *Exchange) ring(a *alarm) {
	x.mu.Lock()
	if !a.on || time.Now().Before(a.due) {
		x.mu.Unlock()
		return
	}
	a.on = false
	why, err := a.why, a.err
	x.mu.Unlock()
	x.failNow(why, err)
}
