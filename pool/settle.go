package pool

import (
	"slices"
	"time"
)

// What a peer sends or closes right behind an answer may cross the next request, and
// HTTP/1.1 can't tell then whose answer it is (RFC 9112 section 9.2). This pool reuses a
// connection within microseconds, so it would lose that race more often than others.
// Hosts that were seen doing so are remembered: a connection to them settles for a
// moment, and is looked at, before it is given to the next request.
const (
	settleTime = 5 * time.Millisecond // by then, what comes behind an answer has come
	closeSpan  = 4 * settleTime       // a close so soon after an answer belongs to it
	closesWary = 2                    // so many first answers in a row with a close behind them are no accident
	warySpan   = time.Minute          // how long unasked data is held against a host
)

// noteBehindLocked notes what the end of a connection says about its host: bytes that
// nobody asked for, or a close right behind the first answer. A close behind a later
// answer is more likely a restart, which says nothing of what comes after it.
func (h *host) noteBehindLocked(c *conn, reason CloseReason) {
	switch now := time.Now(); {
	case c.uses == 0: // there was no answer
	case reason == ReasonUnsolicited:
		h.waryUntil = now.Add(warySpan)
	case now.Sub(c.idleSince) >= closeSpan:
	case reason == ReasonPeerClosed && c.uses == 1,
		reason == ReasonPeerAborted && c.uses == 2: // it crossed the second request
		h.closesBehind++
	}
	h.noteWaryLocked(time.Now())
}

// waryLocked tells whether c has to settle. A host that has answered twice on one
// connection doesn't close behind its answers any more.
func (h *host) waryLocked(c *conn, now time.Time) bool {
	if c.uses > 1 {
		h.closesBehind = 0
	}
	return h.noteWaryLocked(now) && c.uses > 0
}

func (h *host) noteWaryLocked(now time.Time) bool {
	wary := h.closesBehind >= closesWary || now.Before(h.waryUntil)
	if h.tray.wary.Load() != wary {
		h.tray.wary.Store(wary)
	}
	return wary
}

// settle offers c a moment later, if it has survived that. Until then it counts as idle:
// what retires idle connections retires it too. It is called under mu and unlocks it.
func (h *host) settle(c *conn) {
	c.state = connSettling
	h.settling = append(h.settling, c)
	h.mu.Unlock()
	time.AfterFunc(settleTime, func() {
		h.mu.Lock()
		mine := h.unsettleLocked(c)
		h.mu.Unlock()
		if mine {
			h.settled(c)
		}
	})
}

// unsettleLocked takes c from those that settle, so that the caller holds it. It reports
// whether c was among them.
func (h *host) unsettleLocked(c *conn) bool {
	if c.state != connSettling {
		return false
	}
	c.state = connInUse
	i := slices.Index(h.settling, c)
	h.settling = slices.Delete(h.settling, i, i+1)
	return true
}

// settled gives c to the next request, unless something has come behind the last answer.
func (h *host) settled(c *conn) {
	if reason, err := c.look(); err != nil {
		h.noteIdleClose(c, err)
		h.dropStale(c, reason)
		return
	}
	h.giveBack(c, true)
}
