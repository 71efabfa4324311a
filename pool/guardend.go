package pool

import (
	"time"

	"example.com/connwise/health"
)

// ReasonClosedInUse is why a Guard's connection was closed if nothing else is known of it:
// whoever had it closed it.
const ReasonClosedInUse CloseReason = "closed in use"

// onPeerClose runs on the watcher's goroutine. It keeps the time; the reader, who is there
// with net/http, or the next Write knows more of how it ended.
func (c *guardConn) onPeerClose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended.IsZero() {
		c.ended = time.Now()
	}
}

// hungUpLocked takes a look at the socket. An end behind bytes that wait is one too.
func (c *guardConn) hungUpLocked(now time.Time) bool {
	ended, _ := c.heard.Look()
	if !ended && c.ended.IsZero() {
		return false
	}
	c.endLocked(c.heard.Cause(), now)
	return true
}

// endLocked notes that the peer has ended the connection, and what that teaches.
func (c *guardConn) endLocked(how health.Cause, now time.Time) {
	if c.noted || c.closed {
		return
	}
	if c.ended.IsZero() {
		c.ended = now
	}
	c.noted, c.how, c.rest = true, how, c.sense.resting() && !c.sense.last.After(c.ended)
	if c.rest && c.sense.ages() {
		c.h.noteIdleClose(how, c.sense.started, c.ended.Sub(c.sense.last), now)
	}
}

// Close closes the connection and gives its slot back, once.
func (c *guardConn) Close() error {
	c.mu.Lock()
	first := !c.closed
	if first && !c.ended.IsZero() {
		c.endLocked(c.heard.Cause(), time.Now())
	}
	c.closed = true
	reason := c.reasonLocked()
	idle := c.idleLocked(time.Now())
	told := c.retiredLocked(reason, idle)
	c.mu.Unlock()
	c.watch.Stop()
	err := c.Conn.Close()
	if first {
		c.h.closed(c, reason, idle)
		c.traceRetired(told)
	}
	return err
}

// idleLocked is for how long c has been idle, or had been when its peer ended it; negative: it was in
// use, or that can't be told.
func (c *guardConn) idleLocked(now time.Time) time.Duration {
	switch {
	case c.refusal != nil:
		return c.refusal.Idle
	case c.noted && c.rest:
		return c.ended.Sub(c.sense.last)
	case !c.noted && c.sense.ages() && c.sense.resting():
		return max(age(now, c.sense.last), 0)
	}
	return -1
}

// reasonLocked says why it is closed, as far as that can be seen from here.
func (c *guardConn) reasonLocked() CloseReason {
	switch {
	case c.refusal != nil && c.refusal.Err == ErrIdleLimit:
		return ReasonIdleLimit
	case c.sense.kind == kindForeign:
		return ReasonUpgraded
	case c.noted && c.how == health.CauseRequestTimeout:
		return ReasonUnsolicited
	case c.noted && c.rest, c.refusal != nil:
		return ReasonPeerClosed
	case c.noted:
		return ReasonPeerAborted
	case c.sense.ages() && c.sense.resting():
		return ReasonIdleClosed
	}
	return ReasonClosedInUse
}
