package pool

import (
	"errors"
	"io"
	"math"
	"time"

	"example.com/connwise/health"
	"example.com/connwise/internal/h2"
	"example.com/connwise/internal/wire"
)

// This file has the methods of h2.Events: what an HTTP/2 connection says about itself. They
// run on its goroutines, one at a time, without its locks.

// unlimited is the limit of a peer that doesn't say how many streams it takes.
const unlimited = math.MaxInt32

// StreamLimit is told how many streams the peer takes: with its first SETTINGS, and when
// it changes its mind. Above a lowered limit the open ones go on.
func (c *conn) StreamLimit(n uint32) {
	h := c.h
	h.mu.Lock()
	defer h.mu.Unlock()
	c.told = true
	h.noteWorksLocked()
	c.limit = int(min(n, unlimited))
	if c.limit > 0 {
		h.streamsEach = c.limit
	} else {
		c.barredAt = time.Now()
		time.AfterFunc(barredGrace, h.dialMissing)
	}
	h.wakeLocked(c)
	h.placeLocked(c)
	h.dialMissingLocked()
	h.keepNowLocked(time.Now())
}

// GoingAway is told that the connection takes no new stream. Those that the peer has
// accepted go on.
func (c *conn) GoingAway(g h2.GoAway) {
	h := c.h
	reason := ReasonGoAway
	h.mu.Lock()
	switch {
	case g.Failing:
		reason = ReasonError // until ConnClosed says more
		c.failing = true
	case g.Local:
		reason = ReasonWornOut
	case !c.goAway:
		c.goAway = true
		h.tot.GoAways++
	}
	h.leaveLocked(c, reason)
	idle := h.takeIdleLocked(c)
	if idle && reason == ReasonGoAway {
		h.noteIdleCloseLocked(c, idleGoAway, time.Now())
	}
	if idle && g.Failing {
		c.orphan, c.wasIdle, idle = true, true, false
	}
	if c.state == connInUse && c.told { // else ConnClosed tells those who wait
		h.dialSpareLocked(c.streams)
	}
	h.mu.Unlock()
	if idle {
		h.retire(c, reason)
	}
}

// Suspect is told that it's in doubt whether the peer is there, and later whether it is.
func (c *conn) Suspect(yes bool) {
	h := c.h
	var others []*conn
	h.mu.Lock()
	c.suspect = yes
	h.placeLocked(c)
	if yes {
		c.doubted = time.Now()
		time.AfterFunc(doubtGrace, h.dialMissing)
		others = h.takeSharersLocked(c.idleSince)
	} else {
		h.wakeLocked(c)
	}
	h.dialMissingLocked()
	h.mu.Unlock()
	for _, c := range others {
		go h.retire(c, ReasonSuspect) // not here: closing may wait for whoever writes
	}
}

// ConnClosed is told that the connection is over.
func (c *conn) ConnClosed(err error) {
	c.peerClosed.Store(true) // it's nothing that could be used, whoever closed it
	h, how := c.h, c.sharedCloseOf(err)
	if c.stillborn() { // before those who wait for it hear of it, and dial again
		h.noteUseless(c)
	}
	h.mu.Lock()
	reason, own := c.endReason(err), c.givenUpLocked()
	if c.failing && c.leaving == ReasonError {
		c.leaving = reason // now it's known what was wrong with it
	}
	h.leaveLocked(c, reason)
	reason, c.ended = c.leaving, true
	idle := h.takeIdleLocked(c)
	if (idle || c.wasIdle && c.orphan) && reason == ReasonPeerClosed {
		h.noteIdleCloseLocked(c, how, time.Now())
	}
	idle = idle || c.orphan // else who lets go last retires it
	if !c.told && !own && c.state != connGone {
		// It was never a connection that works. Whoever waited for its dial has waited for
		// this, and would wait again with the next one.
		err = handshakeError(h, err)
		h.failWaitersLocked(c, err)
		h.noteDialErrorLocked(c, err, time.Now())
	}
	h.dialMissingLocked()
	h.mu.Unlock()
	if idle {
		h.retire(c, reason)
	}
}

// sharedCloseOf is idleCloseOf for a connection whose read loop has ended with err, which may be
// before open has set c.h2.
func (c *conn) sharedCloseOf(err error) idleClose {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // in want of a frame
		return idleClose(health.CauseOfRead(c.nc, io.EOF).String())
	}
	return idleClose(health.CauseOf(err).String())
}

// stillborn tells whether c, which has ended, did so before the peer's SETTINGS.
func (c *conn) stillborn() bool {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return !c.told && !c.givenUpLocked() && c.state != connGone
}

// givenUpLocked tells whether this side has left c, for a reason that says nothing of the peer.
func (c *conn) givenUpLocked() bool {
	switch c.leaving {
	case "", ReasonError, ReasonPeerClosed:
		return false
	}
	return true
}

// endReason names the reason for the end of a shared connection. h.mu is held.
func (c *conn) endReason(err error) CloseReason {
	switch {
	case c.killed.Load() != nil:
		return ReasonClosed
	case wire.IsTimeout(err):
		return ReasonTimeout
	case (c.state == connIdle || c.wasIdle) && !c.failed:
		return ReasonPeerClosed
	case endedByPeer(err):
		return ReasonPeerAborted
	}
	return ReasonError
}
