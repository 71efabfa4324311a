package pool

import "time"

// This file has the end of connections.

// retire closes a connection that the caller holds, and then gives its slot to a
// waiter's dial: the peer never sees more connections than the limit.
func (h *host) retire(c *conn, reason CloseReason) {
	idle := c.restedFor(reason, time.Now())
	c.close()
	handOver := reason == ReasonMadeRoom || h.twinWaitsLonger()
	h.mu.Lock()
	c.trace.noteRetiredLocked(c, reason, idle, time.Now())
	h.forgetConnLocked(c, reason, idle)
	if !handOver {
		h.giveSlotLocked()
		h.dialMissingLocked()
	}
	h.unlock()
	if handOver {
		h.handOverSlot()
	} else {
		h.passSlot()
	}
	c.trace.retired()
}

// retireAside is retire for those who may be called by StreamDone, maybe from whoever writes to
// an HTTP/2 connection: closing that may wait for the writer.
func (h *host) retireAside(c *conn, reason CloseReason) {
	if c.h2 != nil {
		go h.retire(c, reason)
	} else {
		h.retire(c, reason)
	}
}

// forgetConnLocked takes an opened connection, which is closed and not idle any more,
// out of the books, but for its slot. idle is what restedFor has said.
func (h *host) forgetConnLocked(c *conn, reason CloseReason, idle time.Duration) {
	if c.state == connGone {
		panic("pool: connection retired twice")
	}
	c.state = connGone
	delete(h.conns, c)
	h.tot.countClosed(reason, idle)
	h.noteBehindLocked(c, reason)
	now := time.Now()
	h.noteFruitLocked(c, reason, now)
	h.noteGoneLocked(c, reason, now)
	h.t.noteQuietLocked(h)
}

// restedFor is for how long c, which the caller is about to retire, has carried no request;
// negative: it carried one.
func (c *conn) restedFor(reason CloseReason, now time.Time) time.Duration {
	switch reason {
	case ReasonPeerAborted, ReasonNotKept, ReasonUnread, ReasonCancelled, ReasonTimeout, ReasonError,
		ReasonUpgraded, ReasonUploadUnsent, ReasonWornOut:
		return -1
	case ReasonClosed:
		if c.killed.Load() != nil {
			return -1
		}
	}
	return max(age(now, c.idleSince), 0)
}
