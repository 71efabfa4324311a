package retry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// A discarded answer is read to its end, so that its connection can be used again,
	// but only if that is cheaper than a new connection.
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
)

// again gives back the attempt that ended with resp and err, waits, and returns the next
// attempt. Its error is a *StoppedError.
func again(body *body, resp *http.Response, err error, delay time.Duration) (*http.Request, error) {
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
	return attempt, nil
}

// fits reports whether the request's time allows a wait of d and anything after it.
func fits(req *http.Request, d time.Duration) bool {
	deadline, ok := req.Context().Deadline()
	return !ok || time.Until(deadline) > d
}

// wait returns nil when done is ready, or what ended the request before.
func wait[T any](req *http.Request, done <-chan T) error {
	ctx := req.Context()
	select {
	case <-done:
	case <-ctx.Done():
	case <-cancelled(req):
	}
	// Both may be ready: nothing is sent for a request that has ended.
	if err := ctx.Err(); err != nil {
		return withCause(ctx)
	}
	if ended(req) {
		return context.Canceled
	}
	return nil
}

// withCause returns the context's error. With a cause of the caller's own, both are found.
func withCause(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
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
