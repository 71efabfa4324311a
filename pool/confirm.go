package pool

import (
	"errors"
	"time"

	"example.com/connwise/internal/h2"
	"example.com/connwise/internal/wire"
)

// confirmWait is how long a PING's answer is waited for at least, and how long at most a
// connection is taken to need for a quarter of that before a PING has shown better.
const confirmWait = 250 * time.Millisecond

// decideExpect tells whether the request, which is about to be sent on an HTTP/1.1
// connection, is to ask for a sign of life.
func (c *call) decideExpect() bool {
	ca, conn := c.caution, c.g.c
	return ca != nil && ca.expect && conn.h2 == nil && ca.minds(age(time.Now(), conn.idleSince))
}

// noteWord notes what became of a request that asked for a sign of life on an HTTP/1.1
// connection: err is what its exchange failed with, if it did.
func (c *call) noteWord(err error) {
	f := c.x.Facts()
	silent := f.Unheard || err != nil && !f.Answered && c.ended() == nil
	c.h.noteConfirm(!silent)
	switch {
	case errors.Is(err, wire.ErrExpectationFailed):
		c.h.noteDeaf(unheardDeaf)
	case f.Unheard && f.Answered:
		c.h.noteDeaf(1)
	case !silent:
		c.h.noteDeaf(0)
	}
}

// confirm has an HTTP/2 connection that has been silent for long answer a PING. If it doesn't,
// the hold on it is given back, and the error says why.
func (c *call) confirm() error {
	ca, conn := c.caution, c.g.c
	if ca == nil || conn.h2 == nil {
		return nil
	}
	if quiet := conn.silence(time.Now()); quiet <= h2.PingGap || !ca.minds(quiet) {
		return nil
	}
	//lint:ignore SA1019 as in take
	err := conn.h2.Confirm(c.req.Context(), c.req.Cancel, conn.patience())
	switch {
	case err == h2.ErrNotAsked && !c.h.hasRoomBeside(conn):
		return nil // better unasked than waiting for ever
	case err == h2.ErrNotAsked:
		ca.shun = append(ca.shun, conn)
		c.h.release(conn, false)
		return err
	case c.ended() != nil:
		c.h.release(conn, false)
		return c.ended()
	}
	c.h.noteConfirm(err == nil)
	if err != nil {
		ca.wary = ca.wary || err == h2.ErrUnconfirmed
		ca.shun = append(ca.shun, conn)
		c.h.leaveUnconfirmed(conn)
	}
	return err
}

// silence is for how long nothing has come from the peer.
func (c *conn) silence(now time.Time) time.Duration {
	since := c.opened
	if last := c.h2.LastRead(); last.After(since) {
		since = last
	}
	return age(now, since)
}

// patience is how long the answer to a PING may take: four round trips of the last one, at
// least 250 ms, so that a peer that is busy for a moment isn't taken for dead, and at most as
// long as the connection may go without. Before the first PING the time that it took to
// connect stands for the round trip, which is shorter.
func (c *conn) patience() time.Duration {
	rtt := c.h2.State().PingRTT
	if rtt == 0 {
		rtt = min(c.opened.Sub(c.dialAt), confirmWait)
	}
	d := max(4*rtt, confirmWait)
	if limit := c.h.t.set.h2.PingTimeout; limit > 0 {
		d = min(d, limit)
	}
	return d
}

// leaveUnconfirmed gives back a connection that gave no sign of life. It's suspect, so that
// nobody gets it before a frame has come: internal/h2 says so as well (Suspect), but perhaps on
// another's goroutine and later than this, and then those who wait would be given it again. If
// it is in the way of another one it goes: with the last of those who let go of it, so whether
// that is the last is asked under one lock with letting go.
func (h *host) leaveUnconfirmed(c *conn) {
	last := c.h2.LastRead()
	h.mu.Lock()
	c.doubted = time.Now().Add(-doubtGrace) // it was waited for already
	c.suspect = c.suspect || c.h2.State().Suspect
	h.placeLocked(c)
	if c.streams == 1 && (h.t.set.oneConn || !h.canDialLocked()) {
		h.leaveLocked(c, ReasonUnconfirmed)
	}
	h.releaseUnlock(c, false, last)
}

// hasRoomBeside tells whether a request that can't use c can have another connection: a dial,
// or c's slot.
func (h *host) hasRoomBeside(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.canDialLocked() && !h.t.set.oneConn || c.streams == 1
}

// noteConfirm counts a request whose connection was asked for a sign of life.
func (h *host) noteConfirm(given bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tot.Confirmed++
	if !given {
		h.tot.ConfirmFailed++
	}
}

// rejected tells whether all that was wrong with the request is an expectation that the pool
// had added. The next call has none.
func (c *call) rejected(e *Error) bool {
	if !errors.Is(e, wire.ErrExpectationFailed) || c.caution.failed || !c.bodyRemains() || c.ended() != nil {
		return false
	}
	c.caution.failed = true
	return true
}
