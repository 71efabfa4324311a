package retry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// observe collects the facts of an attempt. err is Base's; resp counts when err is nil.
// Outcome.Retry is what Base has sent again by itself: one failure isn't to be multiplied by
// two layers.
func observe(req *http.Request, resp *http.Response, err error) Outcome {
	o := Outcome{Method: req.Method, Opted: optIn(req), Ended: over(req) != nil}
	if err == nil {
		o.Phase = pool.PhaseResponse
		o.Status = resp.StatusCode
		o.RetryAfter, o.HasRetryAfter = retryAfter(resp.Header, time.Now())
		return o
	}
	o.Phase, o.Stage = phaseOf(err)
	o.Timeout = timedOut(err)
	if e, ok := errors.AsType[*pool.Error](err); ok {
		o.Retry, o.HeadOnly = e.Resent, e.HeadOnly
	}
	_, o.CallerFault = errors.AsType[*pool.CallerError](err)
	o.Closed = errors.Is(err, pool.ErrClosed)
	if p, ok := errors.AsType[*dialer.ProxyError](err); ok {
		o.ProxySaidNo = p.Status/100 == 4 || p.Status == 0
	}
	return o
}

// phaseOf reads the phase that the pool gave the failure. Without a *pool.Error only a
// *dialer.Error proves anything: there was no connection yet.
func phaseOf(err error) (pool.Phase, dialer.Stage) {
	phase := pool.PhaseUnknown
	e, ok := errors.AsType[*pool.Error](err)
	if ok {
		if e.Phase != pool.PhaseDial {
			return e.Phase, 0
		}
		phase = pool.PhaseDial
	}
	if d, ok := errors.AsType[*dialer.Error](err); ok {
		return pool.PhaseDial, d.Stage
	}
	return phase, 0
}

func timedOut(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// over returns what ended the request's time, or nil. The clock is asked too, because an
// I/O deadline that was taken from the context may fire a moment before the context ends.
func over(req *http.Request) error {
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		if cause := context.Cause(ctx); cause != err {
			return fmt.Errorf("%w: %w", err, cause) // a cause of the caller's own: both are found
		}
		return err
	}
	select {
	case <-cancelled(req):
		return context.Canceled
	default:
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// cancelled returns the channel that http.Request had for cancellation before contexts.
// It is still honoured by net/http, and http.Client sets it when it has a Timeout.
func cancelled(req *http.Request) <-chan struct{} {
	//lint:ignore SA1019 a request that uses it has to be ended by it
	return req.Cancel
}

func optIn(req *http.Request) OptIn {
	switch {
	case req.Context().Value(idempotentKey{}) != nil:
		return OptInCall
	case req.Header["Idempotency-Key"] != nil, req.Header["X-Idempotency-Key"] != nil:
		return OptInHeader
	}
	return OptInNone
}
