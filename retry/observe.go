package retry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// observe collects the facts of an attempt. err is Base's; resp counts when err is nil.
// Outcome.Retry is what Base has sent again by itself: one failure isn't to be multiplied by
// two layers.
func observe(req *http.Request, resp *http.Response, err error, t trail) Outcome {
	o := Outcome{Method: req.Method, Opted: optIn(req), Ended: over(req) != nil}
	if err == nil {
		o.Phase = pool.PhaseResponse
		o.Status = resp.StatusCode
		o.RetryAfter, o.HasRetryAfter = retryAfter(resp.Header, time.Now())
		return o
	}
	o.Timeout = timedOut(err)
	if e, ok := errors.AsType[*pool.Error](err); ok && !ofCause(req, e) {
		o.Phase, o.Retry, o.HeadOnly = e.Phase, e.Resent, e.HeadOnly
		if d, ok := errors.AsType[*dialer.Error](err); ok && o.Phase == pool.PhaseDial {
			o.Stage = d.Stage
		}
		if ofClient(err, e) {
			o.Earlier, o.HeadOnly = true, false
		}
	} else if stage, ok := failedDial(req, err); ok {
		o.Phase, o.Stage = pool.PhaseDial, stage
		o.Earlier = t == trailUnknown && replays(req)
	}
	o.weigh(t)
	if e, ok := errors.AsType[*Error](err); ok { // of another Transport in Base
		o.Retry += e.Report.Retries
		o.Earlier = o.Earlier || !e.Unprocessed()
	}
	_, o.CallerFault = errors.AsType[*pool.CallerError](err)
	o.Closed = errors.Is(err, pool.ErrClosed)
	if p, ok := errors.AsType[*dialer.ProxyError](err); ok {
		o.ProxySaidNo = p.Status/100 == 4 || p.Status == 0
	}
	return o
}

// failedDial reports whether err, of a Base that reports no phase, is of a type that proves that
// there was no connection: a dialer's, or those of net and net/http.
func failedDial(req *http.Request, err error) (dialer.Stage, bool) {
	stage, e := dialError(err)
	return stage, e != nil && !ofClient(err, e) && !ofCause(req, e)
}

// dialError finds such an error, and the stage that it is about; nil if there is none.
func dialError(err error) (dialer.Stage, error) {
	if d, ok := errors.AsType[*dialer.Error](err); ok {
		return d.Stage, d
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return dialer.StageResolve, e
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		switch e.Op {
		case "dial":
			return dialer.StageConnect, e
		case "proxyconnect":
			return dialer.StageProxy, e
		}
	}
	return 0, nil
}

// ofClient reports whether e, which was found in err, is what an http.Client met, by its *url.Error.
// That is about a request of the client's own, a token's perhaps, or a redirect's, which Base may
// have made after this one was sent.
func ofClient(err, e error) bool {
	c, ok := errors.AsType[*url.Error](err)
	return ok && errors.Is(c, e)
}

// ofCause reports whether e, which was found in an attempt's error, is there because the caller
// has named it as the cause for which the request's context ends: it's that of another call then,
// as with errgroup.
func ofCause(req *http.Request, e error) bool {
	return errors.Is(context.Cause(req.Context()), e)
}

// replays reports whether net/http would send the request again by itself when a connection is
// lost, so that a failed dial needn't be its first (RFC 9110 section 9.2.2, and its own
// convention for the header).
func replays(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return hasIdempotencyKey(req)
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
