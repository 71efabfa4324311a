package retry

import (
	"errors"
	"io"
	"net/http"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

const (
	// A discarded answer is read to its end, so that its connection can be used again,
	// but only if that is cheaper than a new connection.
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
)

// again gives back the attempt before, which ended with resp and err, waits, and returns the
// next one. Its error is a *StoppedError.
func again(body *body, before *http.Request, resp *http.Response, err error, delay time.Duration) (*http.Request, error) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	if err == nil {
		d, _ := retryAfter(resp.Header, time.Now())
		err = &StatusError{Status: resp.StatusCode, RetryAfter: d}
	}
	discard(resp)
	if stop := wait(body.req, timer.C); stop != nil {
		return nil, &StoppedError{Err: stop, Last: err}
	}
	attempt, stop := body.next()
	if stop != nil {
		return nil, &StoppedError{Err: stop, Last: err}
	}
	reportRetry(body.req.Context(), err)
	return elsewhere(attempt, before, err), nil
}

// elsewhere makes the attempt prefer another address than the one on which the attempt before
// it failed with err, and than those that this one preferred others to.
func elsewhere(attempt, before *http.Request, err error) *http.Request {
	ctx := before.Context()
	if e, ok := errors.AsType[*pool.Error](err); ok {
		ctx = pool.AvoidAddr(ctx, e.Addr)
	}
	if len(dialer.Avoided(ctx)) == 0 {
		return attempt
	}
	return attempt.WithContext(ctx)
}

// fits reports whether the request's time allows a wait of d and anything after it.
func fits(req *http.Request, d time.Duration) bool {
	deadline, ok := req.Context().Deadline()
	return !ok || time.Until(deadline) > d
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

// discard reads an answer to its end, if that is near, and closes it.
func discard(resp *http.Response) {
	if resp == nil || resp.Body == nil {
		return
	}
	if resp.ContentLength <= drainBytes {
		stop := time.AfterFunc(drainTime, func() { resp.Body.Close() })
		defer stop.Stop()
		io.CopyN(io.Discard, resp.Body, drainBytes+1) // one more than allowed, to see the end
	}
	resp.Body.Close()
}
