package pool

import (
	"errors"
	"io"
	"net"
	"syscall"

	"example.com/connwise/internal/h2"
	"example.com/connwise/internal/wire"

	"golang.org/x/net/http2"
)

// replaceable tells whether the request may be sent again without a word. One kind of
// failure is no more than a stale connection: it had been idle or used (or, with HTTP/2,
// was no good for new requests any more), and took no byte of this one. The other is that
// the peer proved that it did not process the request. The body has to be as it was, or to be
// had again.
func (c *call) replaceable(e *Error) bool {
	switch e.Phase {
	case PhaseUnsent:
		if !(e.Reused || c.g.wasIdle || errors.Is(e, h2.ErrStreamLimit) || c.g.c.h2 != nil && (!c.h.stays(c.g.c) || c.h.usedByOthers(c.g.c))) {
			return false
		}
	case PhaseRefused:
		if c.once && refusedAlone(e) {
			return false
		}
	default:
		return false
	}
	_, callers := errors.AsType[*CallerError](e)
	return !callers && c.bodyRemains() && c.ended() == nil
}

// bodyRemains tells whether the body is as it was, or can be had again.
func (c *call) bodyRemains() bool {
	return !c.body.wasTouched() || c.req.GetBody != nil && !c.x.Facts().BodyBusy
}

// refusedAlone tells whether the peer refused this one request (REFUSED_STREAM), and not all
// that come after a GOAWAY.
func refusedAlone(err error) bool {
	s, ok := errors.AsType[http2.StreamError](err)
	return ok && s.Code == http2.ErrCodeRefusedStream
}

// failed closes what is left of the request's body and counts the failure.
func (c *call) failed(e *Error) *Error {
	c.closeBody()
	if c.h != nil {
		c.h.noteFailed()
	}
	return e
}

// closeBody closes what is left of the request's body, as no exchange will get it any more.
func (c *call) closeBody() {
	switch {
	case c.body != nil:
		c.body.release()
	case c.small == nil:
		closeBody(c.req)
	}
}

// lost turns a failed exchange into an *Error and retires its connection, which h1 has
// closed.
func (c *call) lost(err error) *Error {
	f := c.x.Facts()
	e := c.describe(&Error{Phase: phaseOf(f), Sent: f.Sent, HeadOnly: f.HeadOnly, Err: c.cause(err)})
	reason := ReasonError
	switch {
	case c.g.c.killed.Load() != nil:
		reason = ReasonClosed
	case c.ended() != nil:
		reason = ReasonCancelled
	case e.Phase == PhaseUnsent && e.Reused:
		reason = ReasonPeerClosed
	case e.Timeout():
		reason = ReasonTimeout
	case endedByPeer(err):
		reason = ReasonPeerAborted
	case err == wire.ErrExpectationFailed:
		reason = ReasonUploadUnsent
	}
	c.h.retire(c.g.c, reason)
	if !f.Answered && f.Sent > 0 && reason == ReasonPeerAborted {
		c.h.noteCrossed(c.g)
	}
	if reason == ReasonPeerAborted && !f.Answered && !c.g.reused && !c.g.wasIdle {
		c.h.noteUseless(c.g.c)
	}
	if c.g.wasIdle && !f.Answered && f.Sent > 0 {
		c.h.suspect(c.g.idle, e.Timeout())
	}
	return e
}

// endedByPeer is for the books only: nothing is decided by it.
func endedByPeer(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// cause is err as the caller should see it.
func (c *call) cause(err error) error {
	if k := c.g.c.killed.Load(); k != nil {
		return *k
	}
	if b, ok := errors.AsType[*wire.BodyError](err); ok {
		return &CallerError{CallerBody, b.Err}
	}
	if g, ok := errors.AsType[*h2.GoAwayError](err); ok && !g.Local {
		return &GoAwayError{LastStreamID: g.LastStreamID, Code: g.Code, Debug: g.Debug, StreamID: g.StreamID, Err: g.Err}
	}
	if hook, ok := errors.AsType[*wire.HookError](err); ok {
		return &CallerError{CallerHook, hook.Err}
	}
	return err
}

// ended returns why the caller's time is over, nil if it isn't.
func (c *call) ended() error {
	if ctx := c.req.Context(); ctx.Err() != nil {
		return wire.Ended(ctx)
	}
	select {
	//lint:ignore SA1019 as in take
	case <-c.req.Cancel:
		return wire.ErrCanceled
	default:
		return nil
	}
}

// describe adds to e what is known of the call's connection and body.
func (c *call) describe(e *Error) *Error {
	e.Reused, e.Idle, e.Resent = c.g.reused, c.g.idle, c.resent
	if c.endedInTurn(e) {
		e.Resent += c.aways
	}
	e.BodyTouched = c.bodyTouched()
	return c.g.c.describe(e)
}

// bodyTouched tells whether a body that can't be had again was read from.
func (c *call) bodyTouched() bool {
	return c.req.GetBody == nil && (c.small != nil || c.body.wasTouched())
}

// describe adds to e what the connection is.
func (c *conn) describe(e *Error) *Error {
	e.Host, e.Proto, e.Addr = c.h.key.addr, "HTTP/1.1", c.addr
	if c.h2 != nil {
		e.Proto = "HTTP/2.0"
	}
	return e
}

// remoteAddr is the text of nc's address. A dial hook may give a connection that has
// none, or that embeds a nil net.Conn and does no more than read and write: an error's
// decoration must not be what brings its user down.
func remoteAddr(nc net.Conn) (addr string) {
	defer func() {
		if recover() != nil {
			addr = ""
		}
	}()
	if a := nc.RemoteAddr(); a != nil {
		addr = a.String()
	}
	return addr
}
