package retry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"example.com/connwise/pool"
)

// again gives back what attempt a of the request left, waits, and returns the next one.
// Its error is a *StoppedError.
func (c *call) again(before *http.Request, a *attempt, delay time.Duration) (*http.Request, error) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	ctx := c.elsewhere(before.Context(), a.err)
	discard(c.req, a.resp)
	a.resp = nil
	whole, cancel := c.whole()
	defer cancel()
	stop := wait(whole, timer.C)
	if stop != nil {
		return nil, c.stopped(stop, a.err)
	}
	next, stop := c.body.next(ctx, whole)
	if stop != nil {
		return nil, c.stopped(stop, a.err)
	}
	c.t.counts.resent(c.last())
	c.past.Retries++
	c.past.Errors = append(c.past.Errors, a.err)
	return next, nil
}

// stopped is the end of a call whose next attempt was due, and isn't made.
func (c *call) stopped(why, last error) *StoppedError {
	a := c.last()
	a.Wait, a.Reason = 0, ReasonOutOfTime
	if over(c.req) != nil {
		a.Reason = ReasonEnded
	} else if _, ok := why.(*pool.CallerError); ok {
		a.Reason = ReasonBody
	}
	c.t.counts.refused(a.Reason)
	return &StoppedError{Err: why, Last: last, unprocessed: c.past.unprocessed()}
}

// elsewhere makes the next attempt prefer other connections than the one on which an attempt
// has failed with err, and than those that this one preferred others to.
func (c *call) elsewhere(ctx context.Context, err error) context.Context {
	if c.policy.NextConn == NextAny {
		return ctx
	}
	e, ok := errors.AsType[*pool.Error](err)
	if ok {
		ctx = pool.AvoidAddr(ctx, e.Addr)
	}
	if c.policy.NextConn == NextFresh || ok && e.Reused && !e.Unprocessed() {
		ctx = pool.PreferFresh(ctx)
	}
	return ctx
}

// whole returns the caller's request with the time that the policy gives the call as a whole.
func (c *call) whole() (*http.Request, context.CancelFunc) {
	if c.policy.CallTimeout <= 0 {
		return c.req, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(c.req.Context(), c.left(), c.policy.callTimeout())
	return c.req.WithContext(ctx), cancel
}

// wait returns nil when done is ready, or what ended the request before. Both may be
// ready: nothing is sent for a request that has ended.
func wait[T any](req *http.Request, done <-chan T) error {
	select {
	case <-done:
	case <-req.Context().Done():
	case <-cancelled(req):
	}
	return over(req)
}
