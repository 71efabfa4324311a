package pool

import (
	"slices"
	"time"
)

// An HTTP/2 connection is shared: many requests hold it at a time, each with a stream of
// its own. While none does, it lies in the idle stack like any other. While it is in use and
// takes one more, it is in host.shared. The holds come and go by holdLocked and release; what
// the peer says about it comes through the methods of h2.Events (peersays.go); sharedlook.go
// is the last look before a request goes out.

// sharing is what there is to know of a connection with streams. Guarded by host.mu.
type sharing struct {
	streams  int         // requests that hold it
	limit    int         // most that the peer takes; one until it has said
	told     bool        // the peer's first SETTINGS have come
	barredAt time.Time   // since when limit is zero
	suspect  bool        // a PING is to show whether it is alive
	doubted  time.Time   // since when
	inShared bool        // it is in host.shared
	failed   bool        // the request that let go last has failed on the wire
	leaving  CloseReason // it takes no new request, and is retired when the last lets go
	goAway   bool        // the peer said so
	failing  bool        // ConnClosed is about to come
	ended    bool        // it has come
	wasIdle  bool        // and it was idle then
	orphan   bool        // nobody holds it, and ConnClosed is to retire it
}

// takesLocked tells whether c can carry one more request.
func (c *conn) takesLocked() bool {
	if c.h2 == nil {
		return true
	}
	spent := c.h.t.set.disableKeepAlives && c.uses > 0
	return c.leaving == "" && !spent && !c.suspect && c.streams < c.limit && !c.peerClosed.Load()
}

// holdLocked takes c, which is nobody's or shared, for one request. used tells whether it
// was used before.
func (h *host) holdLocked(c *conn) (used bool) {
	c.state = connInUse
	used = c.uses > 0
	if c.h2 == nil {
		h.noteHeldLocked(c, c.uses+1)
		return used
	}
	c.streams++
	c.uses++
	h.noteHeldLocked(c, c.uses)
	h.placeLocked(c)
	return used
}

// placeLocked sees to it that c is in host.shared if it belongs there.
func (h *host) placeLocked(c *conn) {
	belongs := c.state == connInUse && c.streams > 0 && c.takesLocked()
	switch {
	case belongs == c.inShared:
		return
	case belongs:
		h.shared = append(h.shared, c)
	default:
		i := slices.Index(h.shared, c)
		h.shared = slices.Delete(h.shared, i, i+1)
	}
	c.inShared = belongs
}

// pickSharedLocked returns a connection in use that takes one more request, nil if there is
// none. The oldest is preferred: few connections are kept busy, and the others can rest.
func (h *host) pickSharedLocked(ca *caution) *conn {
	for i := 0; i < len(h.shared); {
		switch c := h.shared[i]; {
		case !c.takesLocked():
			h.placeLocked(c) // its peer has closed it
		case ca.shuns(c):
			i++
		default:
			return c
		}
	}
	return nil
}

// serveLocked gives c to the oldest waiter, or its free streams to the oldest ones. It
// reports whether there was one. c is nobody's, or shared.
func (h *host) serveLocked(c *conn) (any bool) {
	for c.takesLocked() {
		w := h.queue.oldest(c.h2 != nil)
		if w == nil {
			break
		}
		h.queue.remove(w)
		w.ready <- delivery{c: c, reused: h.holdLocked(c)}
		h.noteServedLocked()
		if any = true; c.h2 == nil {
			break
		}
	}
	if any && c.leaving != "" { // it was given its last request, and is none to wait for any more
		h.dialMissingLocked()
	}
	return any
}

// wakeLocked is called when c may take requests that it didn't take before.
func (h *host) wakeLocked(c *conn) {
	switch {
	case c.state == connIdle && h.queue.oldest(true) != nil && c.takesLocked():
		if _, ok := judge(c.candidate(time.Now())); ok { // else the sweeper is about to take it
			h.removeIdleLocked(c)
			h.serveLocked(c)
		}
	case c.state == connInUse && c.streams > 0:
		h.serveOnLocked(c)
	}
}

// serveOnLocked gives the free streams of c, which is in use, to the oldest waiters, unless it
// has to go: those who wait would keep a connection for ever that is too old, or was drained.
func (h *host) serveOnLocked(c *conn) {
	if h.queue.len() > 0 && c.takesLocked() {
		if reason, ok := judge(c.candidate(time.Now())); !ok {
			h.leaveLocked(c, reason)
			h.dialMissingLocked()
			return
		}
	}
	h.serveLocked(c)
	h.placeLocked(c)
}

// leaveLocked keeps new requests off c. The first reason counts.
func (h *host) leaveLocked(c *conn, reason CloseReason) {
	if c.leaving == "" {
		c.leaving = reason
	}
	h.placeLocked(c)
}

// release takes one request's hold back; failed says that the request failed on the wire.
// With the last hold the connection becomes idle, or is retired.
func (h *host) release(c *conn, failed bool) (kept bool) {
	last := c.h2.LastRead()
	h.mu.Lock()
	return h.releaseUnlock(c, failed, last)
}

// releaseUnlock is release with h.mu held, which it gives back; last is the connection's
// LastRead.
func (h *host) releaseUnlock(c *conn, failed bool, last time.Time) (kept bool) {
	if c.streams == 0 {
		panic("pool: connection given back twice")
	}
	c.streams--
	c.failed = failed
	if h.t.set.disableKeepAlives {
		h.leaveLocked(c, ReasonNotKept)
	}
	if c.streams > 0 {
		if c.leaving == "" {
			h.serveOnLocked(c)
		}
		kept = c.leaving == ""
		h.mu.Unlock()
		return kept
	}
	h.placeLocked(c)
	now := time.Now()
	c.idleSince = now
	if !last.IsZero() {
		c.idleSince = last
	}
	if reason, ok := h.judgeReturnLocked(c, now); !ok {
		h.leaveLocked(c, reason)
	}
	switch reason := c.leaving; {
	case c.failing && !c.ended:
		// ConnClosed knows why, and retires it. If it ends before its handshake is over, those
		// who wait for it are told first, or they would get another dial.
		c.orphan = true
		h.mu.Unlock()
		return false
	case reason != "":
		h.mu.Unlock()
		h.retireAside(c, reason)
		return false
	}
	h.offer(c, now)
	return true
}

// drop gives back a connection that is no good any more, and that nobody else should get.
func (h *host) drop(c *conn, reason CloseReason) {
	if c.h2 == nil {
		h.retire(c, reason)
		return
	}
	h.mu.Lock()
	h.leaveLocked(c, reason)
	h.mu.Unlock()
	h.release(c, false)
}
