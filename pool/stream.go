package pool

import (
	"net/http"

	"example.com/connwise/internal/h2"
	"example.com/connwise/internal/wire"
)

// exchangeStream is exchange on an HTTP/2 connection. Whatever comes of it, StreamDone
// gives the hold on the connection back.
func (c *call) exchangeStream() (*http.Response, *Error) {
	conn := c.g.c
	x := &h2.Exchange{}
	c.x = x
	returned := false
	defer func() {
		if !returned { // a trace hook or the caller's body has panicked
			x.Close()
		}
	}()
	resp, err := x.Start(conn.h2, c.wire(), c)
	returned = true
	if r, ok := err.(*wire.RequestError); ok {
		return nil, c.describe(&Error{Phase: PhaseUnsent, Err: &CallerError{CallerRequest, r.Err}})
	}
	c.noteSent()
	if err != nil {
		return nil, c.lostStream(err)
	}
	c.h.noteServed(conn)
	if c.body != nil {
		c.body.release()
	}
	return c.received(resp), nil
}

// StreamDone gives the hold on the connection back. h2 calls it once for each stream, or
// request that never became one, from whichever goroutine ended it.
func (c *call) StreamDone(why wire.End) {
	c.over.Store(true)
	if why == wire.EndNotKept {
		c.h.drop(c.g.c, ReasonNotKept)
	} else {
		c.h.release(c.g.c, why == wire.EndError)
	}
}

// lostStream turns a failed stream into an *Error.
func (c *call) lostStream(err error) *Error {
	f := c.x.Facts()
	e := c.describe(&Error{Phase: phaseOf(f), Sent: f.Sent, HeadOnly: f.HeadOnly, Err: c.cause(err)})
	if e.Phase == PhaseRefused {
		c.h.noteRefused()
		c.traceRefused(e)
	} else if c.g.wasIdle && !f.Answered && f.Sent > 0 && endedByPeer(err) {
		c.h.noteCrossed(c.g)
	} else if !c.g.wasIdle && !f.Answered && !c.g.c.served.Load() && endedByPeer(err) {
		c.h.noteUseless(c.g.c)
	}
	return e
}
