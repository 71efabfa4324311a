package retry

import (
	"io"
	"net/http"
	"time"
)

const (
	// A discarded answer is read to its end, so that its connection can be used again,
	// but only if that is cheaper than a new connection.
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
	// closeTime is how long its Close may take before the call goes on without it.
	closeTime = 50 * time.Millisecond
)

// discard reads an answer to its end, if that is near, and closes it. What hangs, by a Base that
// isn't as it should be, is left behind, and the end of the request's context ends the wait.
func discard(req *http.Request, resp *http.Response) {
	if resp == nil || resp.Body == nil {
		return
	}
	done := make(chan any, 1)
	late := time.AfterFunc(drainTime, func() { resp.Body.Close() })
	go func() {
		defer func() { done <- recover() }() // to panic where it can be caught
		drain(resp, late)
	}()
	t := time.NewTimer(drainTime + closeTime)
	defer t.Stop()
	select {
	case v := <-done:
		if v != nil {
			panic(v)
		}
		return
	case <-t.C:
	case <-req.Context().Done():
	case <-cancelled(req):
	}
	if late.Stop() {
		go resp.Body.Close() // which ends a Read, but may hang itself
	}
}

// drain closes the body, unless late does: once, as what a second Close does is undefined (io.Closer).
func drain(resp *http.Response, late *time.Timer) {
	defer func() {
		if late.Stop() {
			resp.Body.Close()
		}
	}()
	if resp.ContentLength <= drainBytes {
		io.CopyN(io.Discard, resp.Body, drainBytes+1) // one more than allowed, to see the end
	}
}
