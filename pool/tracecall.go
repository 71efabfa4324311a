package pool

import (
	"errors"
	"net/http"

	"golang.org/x/net/http2"
)

// exchangeTraced is exchange for a Trace.
func (c *call) exchangeTraced() (*http.Response, *Error) {
	tr := c.g.c.trace
	e := ReuseEvent{TraceConn: c.g.c.traceConn(), Idle: c.g.idle, Requests: c.givenBefore()}
	tr.holds.Add(1)
	defer tr.letGo()
	resp, err := c.exchange()
	if c.g.reused && c.sent {
		tell(tr.to.Reused, e)
	}
	return resp, err
}

// givenBefore is how many requests were given to the call's connection before, which an HTTP/2
// connection has counted when it was taken.
func (c *call) givenBefore() int {
	conn := c.g.c
	if conn.h2 == nil {
		return conn.uses
	}
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return conn.uses - 1
}

// traceWait tells of a wait that was booked, or of a request that was turned away.
func (h *host) traceWait(w *waiter, b booked, err error) {
	t := h.t.set.Trace
	if t == nil || t.Waited == nil {
		return
	}
	e := WaitEvent{TraceHost: h.traceHost(), Took: b.took, Err: err}
	if err == errForgotten { // it looks for its host again
		e.Err = nil
	}
	switch {
	case b.waited:
		e.Queue = w.met
	case w == nil && errors.Is(err, ErrTooManyWaiters):
		if turned, ok := errors.AsType[*Error](err); ok {
			e.Queue = turned.Queued
		}
	default:
		return
	}
	tell(t.Waited, e)
}

// traceRefused tells that the peer did not process the call's request, which has failed with err.
func (c *call) traceRefused(err *Error) {
	t := c.t.set.Trace
	if t == nil || t.Refused == nil {
		return
	}
	e := RefuseEvent{TraceConn: c.g.c.traceConn(), Err: err}
	if g, ok := errors.AsType[*GoAwayError](err); ok {
		e.GoAway, e.Code, e.LastStreamID, e.StreamID = true, g.Code, g.LastStreamID, g.StreamID
	} else if s, ok := errors.AsType[http2.StreamError](err); ok {
		e.Code, e.StreamID = s.Code, s.StreamID
	}
	tell(t.Refused, e)
}

// traceReplaced tells that the call, which has failed with err, has a successor, the nth.
func (c *call) traceReplaced(err *Error, n int) {
	if t := c.t.set.Trace; t != nil && t.Replaced != nil {
		tell(t.Replaced, ReplaceEvent{TraceConn: c.g.c.traceConn(), Phase: err.Phase, Err: err, Idle: err.Idle, Count: n})
	}
}
