package pool

import (
	"errors"
	"io"
	"net"
	"syscall"

	"example.com/connwise/internal/h1"
)

// replaceable tells whether a failure was no more than a stale connection: it had been
// idle or used, took no byte of the request, and the body is as it was.
func (c *call) replaceable(e *Error) bool {
	if e.Phase != PhaseUnsent || !(e.Reused || c.g.wasIdle) || c.body.wasTouched() {
		return false
	}
	_, callers := errors.AsType[*CallerError](e)
	return !callers && c.ended() == nil
}

// failed closes what is left of the request's body and counts the failure.
func (c *call) failed(e *Error) *Error {
	switch {
	case c.body != nil:
		c.body.release()
	case c.small == nil:
		closeBody(c.req)
	}
	if c.h != nil {
		c.h.noteFailed()
	}
	return e
}

// lost turns a failed exchange into an *Error and retires its connection, which h1 has
// closed.
func (c *call) lost(err error) *Error {
	f := c.x.Facts()
	e := c.describe(&Error{Phase: phaseOf(f), Sent: f.Sent, Err: c.cause(err)})
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
	}
	c.h.retire(c.g.c, reason)
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
	if b, ok := errors.AsType[*h1.BodyError](err); ok {
		return &CallerError{CallerBody, b.Err}
	}
	if hook, ok := errors.AsType[*h1.HookError](err); ok {
		return &CallerError{CallerHook, hook.Err}
	}
	return err
}

// ended returns why the caller's time is over, nil if it isn't.
func (c *call) ended() error {
	if ctx := c.req.Context(); ctx.Err() != nil {
		return h1.Ended(ctx)
	}
	select {
	//lint:ignore SA1019 as in take
	case <-c.req.Cancel:
		return errRequestCanceled
	default:
		return nil
	}
}

// describe adds to e what is known of the call's connection and body.
func (c *call) describe(e *Error) *Error {
	e.Reused, e.Idle = c.g.reused, c.g.idle
	e.BodyTouched = c.req.GetBody == nil && (c.small != nil || c.body.wasTouched())
	return c.g.c.describe(e)
}

// describe adds to e what the connection is.
func (c *conn) describe(e *Error) *Error {
	e.Host, e.Proto, e.Addr = c.h.key.addr, "HTTP/1.1", remoteAddr(c.nc)
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
