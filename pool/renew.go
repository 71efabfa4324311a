package pool

import (
	"math"
	"time"
)

// A connection that has to leave the pool at a time that is known, or after a number of
// requests, gets a successor before, so that no request has to wait for a dial. Under
// MinIdlePerHost idle ones don't count any more when they are about to go, and what
// is missing then is dialled. Without it, a connection that is being used gets one before its age
// (Config.MaxConnAge) or its count (Config.MaxRequestsPerConn) is reached. One that
// nobody has used for a moment gets none.

const (
	forever = time.Duration(math.MaxInt64)
	// busyFor is for how long after a request a host, or a connection, counts as being used.
	busyFor = 2 * time.Second
	// maxSuccessors is how many unused connections at the top of the idle stack are looked past
	// for the one that is to be used up first.
	maxSuccessors = 8
	// leastLead is how long before a connection goes its successor is dialled, at least: twice
	// the time after which a lack is seen.
	leastLead = 4 * keepDelay
)

// leadLocked is how long before connections go their successors are dialled: three times what a
// dial takes, and what a whole set of warm connections takes that were opened together.
// each is what one of them carries.
func (h *host) leadLocked(each int) time.Duration {
	rounds := h.cfg.MinIdlePerHost / each / max(h.window.size(), 1)
	return leastLead + time.Duration(3+rounds)*h.keeper.took
}

// staysLocked is for how long c still counts as a connection to come: until it is to be
// renewed, which is a lead before it has to leave; but at the earliest after half of its time.
// It is forever, if nothing ends it, and not more than zero if that is over.
func (c *conn) staysLocked(lead time.Duration, now time.Time) time.Duration {
	stays := forever
	if c.maxAge > 0 {
		stays = c.maxAge - min(lead, c.maxAge/2) - age(now, c.opened)
	}
	if c.state == connInUse {
		return stays // what its holder knows of it belongs to that
	}
	if limit := c.idleLimit(); limit > 0 {
		stays = min(stays, limit-min(lead, limit/2)-age(now, c.idleSince))
	}
	if most := c.h.cfg.MaxRequestsPerConn; most > 0 && c.uses >= most {
		return 0
	}
	return stays
}

// fateLocked is why c, which is idle, is about to go.
func (c *conn) fateLocked(now time.Time) CloseReason {
	limit := c.idleLimit()
	if limit > 0 && (c.maxAge == 0 || limit-age(now, c.idleSince) < c.maxAge-age(now, c.opened)) {
		return ReasonIdleLimit
	}
	return ReasonMaxAge
}

// renewLocked is called for a connection that is about to go. If it is one of those that
// the host's requests use, a successor is dialled, once.
func (h *host) renewLocked(c *conn, now time.Time) {
	if !c.renewed && age(now, h.usedAt) < busyFor && h.missesLocked(c, now) {
		c.renewed = true
		h.keeper.successors++
	}
}

// missesLocked tells whether c will be missed when it goes. What MinIdlePerHost counts, it
// replaces. An idle connection that is about to go by its idle limit isn't missed.
func (h *host) missesLocked(c *conn, now time.Time) bool {
	switch {
	case h.cfg.MinIdlePerHost > 0 && c.h2 != nil:
		return false
	case c.state == connInUse:
		return true
	}
	return h.cfg.MinIdlePerHost == 0 && age(now, c.idleSince) < busyFor && c.fateLocked(now) == ReasonMaxAge
}

// noteHeldLocked is called when c was taken for one more request, its n-th. The last that
// MaxRequestsPerConn allows closes it to others; and if that is about to come, going by
// how fast they came so far, a successor is dialled.
func (h *host) noteHeldLocked(c *conn, n int) {
	h.keepSoonLocked()
	most := h.cfg.MaxRequestsPerConn
	if most == 0 {
		return
	}
	if c.h2 != nil && n >= most {
		h.leaveLocked(c, ReasonMaxRequests)
	}
	now := time.Now()
	busy := now.Sub(h.keeper.heldAt) < busyFor
	h.keeper.heldAt = now
	if c.renewed || !busy || 2*n < most || !h.missesLocked(c, now) {
		return
	}
	if left := age(now, c.opened) / time.Duration(n) * time.Duration(most-n); left <= h.leadLocked(1) {
		c.renewed = true
		h.keeper.successors++
		h.keepByLocked(now)
	}
}

// firstPickLocked is where in the idle stack to look for a connection first: at the top, but where
// successors lie there that were not used yet, at the connection that one of them is to
// follow. Else that would keep what is left of its requests for ever.
func (h *host) firstPickLocked(ws wish, now time.Time) int {
	top := len(h.idle) - 1
	for i := top; h.cfg.MaxRequestsPerConn > 0 && i >= max(top-maxSuccessors, 0); i-- {
		switch c := h.idle[i]; {
		case c.h2 == nil && c.renewed && ws.takes(c, now):
			return i
		case c.uses > 0:
			return top
		}
	}
	return top
}
