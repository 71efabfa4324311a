package h2

import (
	"errors"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// A state is how far a stream has come. Guarded by Conn.mu.
type state uint8

const (
	stateNew     state = iota
	stateWaiting       // in Conn.waiting: without an id, and no byte of it is anywhere
	stateOpen          // in Conn.streams
	stateClosed        // nothing is expected of the peer any more
)

// errFromPeer is the Cause of a StreamError that the peer's RST_STREAM is.
var errFromPeer = errors.New("received from peer")

// closeLocked takes x from the books. It's told to the owner when the peer's are known to be
// in line.
func (c *Conn) closeLocked(x *Exchange, why wire.End) {
	if x.state == stateOpen {
		delete(c.streams, x.id)
	}
	x.leave()
	x.state = stateClosed
	x.why = why
	x.data, x.small = nil, nil
	x.fields.drop()
	x.up.stop()
	x.traceLate(x.err)
}

// settleLocked ends x if both sides are through with it. If the answer is over and the body
// was never asked for, the peer is told that it won't come.
func (c *Conn) settleLocked(x *Exchange) {
	if x.state != stateOpen || !x.peerEnd {
		return
	}
	why := wire.EndKept
	switch {
	case x.err != nil:
		why = wire.EndError
	case x.closes:
		why = wire.EndNotKept
	}
	switch {
	case x.allSent:
		c.closeLocked(x, why)
		c.tellLocked(x)
	case x.gated || x.unwanted || x.heldLocked():
		c.resetLocked(x, why, http2.ErrCodeNo)
	}
}

// heldLocked reports whether x's body, which is in memory, can't be sent now. Behind the answer
// it's of no use, and the peer may never let it go; the caller may have no body to close.
func (x *Exchange) heldLocked() bool {
	return x.up == nil && !x.endQueued && (x.window <= 0 || x.c.window <= 0)
}

// resetLocked closes x and has an RST_STREAM written.
func (c *Conn) resetLocked(x *Exchange, why wire.End, code http2.ErrCode) {
	if !x.peerEnd {
		c.afloat.leave(x.inflow.avail)
	}
	c.closeLocked(x, why)
	c.leaving++
	c.out.b = appendReset(c.out.b, x.id, code)
	c.out.add(x, frameHead+4, markReset)
}

// failLocked ends x with err, for this side's reasons. If the peer knows of it, it's told code.
// The first failure counts. It reports whether this one did.
func (c *Conn) failLocked(x *Exchange, why wire.End, err error, code http2.ErrCode) bool {
	switch x.state {
	case stateOpen:
		x.setErrLocked(err)
		c.resetLocked(x, why, code)
	case stateWaiting, stateNew:
		c.dropLocked(x, why, err)
	default:
		return false
	}
	return true
}

// lostLocked ends x with err, and the peer knows of it, or is gone.
func (c *Conn) lostLocked(x *Exchange, err error) {
	x.setErrLocked(err)
	c.closeLocked(x, wire.EndError)
	c.tellLocked(x)
}

// dropLocked ends x with err before it had an id: there is nothing of it that could go out.
func (c *Conn) dropLocked(x *Exchange, why wire.End, err error) {
	x.setErrLocked(err)
	c.closeLocked(x, why)
	c.tellLocked(x)
	x.poke()
}

// setErrLocked notes why x failed, once, and what is known of it then.
func (x *Exchange) setErrLocked(err error) {
	if x.err == nil {
		x.err = err
		x.final = x.factsLocked()
		x.frozen = true
	}
}

// Facts returns what is known so far.
func (x *Exchange) Facts() wire.Facts {
	if x.c == nil {
		return wire.Facts{}
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	f := x.final
	if !x.frozen {
		f = x.factsLocked()
	}
	f.BodyTouched, f.BodyBusy = x.up.touched()
	return f
}

// factsLocked counts what Write has accepted; and also what is in a batch, as long as that may
// still be written: then nobody could say later that it wasn't.
func (x *Exchange) factsLocked() wire.Facts {
	f := wire.Facts{Sent: x.sent, AllSent: x.allSent, Answered: x.answered, Refused: x.refused}
	c := x.c
	if alive := c.werr == nil && c.fatal == nil; alive || c.writing && c.cur.holds(x) {
		f.Sent, f.AllSent = x.queued, x.endQueued
	}
	f.HeadOnly = x.gated && f.Sent > 0 && !f.Answered
	return f
}

// poke wakes whoever waits for something to happen to x.
func (x *Exchange) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}
