package pool

import "time"

// A dial that no request waits for any more goes on for a while: its connection may serve
// the next one, and a server whose handshake takes longer than its callers wait would
// otherwise never be reached. But it doesn't go on for as long as the dialer would let it,
// or the dials to a host that hangs would pile up (golang/go#76784).
const (
	orphanGrace = 5 * time.Second
	// A proxy that accepts and keeps silent holds a place of its own for each tunnel.
	orphanGraceProxy = 25 * time.Millisecond
)

// noteLeftLocked is called when a waiter has left the queue without a connection.
func (h *host) noteLeftLocked() {
	if h.route.Proxy != nil {
		h.reapLocked(orphanGraceProxy)
	} else {
		h.reapLocked(orphanGrace)
	}
}

// noteServedLocked is called when a waiter got a connection that another request gave
// back: the dial for it is now one too many, but a welcome one.
func (h *host) noteServedLocked() { h.reapLocked(orphanGrace) }

// reapLocked sees to it that the dials that are too many now end after the grace.
func (h *host) reapLocked(grace time.Duration) {
	if h.dialing <= h.queue.len() || h.reaping[grace] {
		return
	}
	if h.reaping == nil {
		h.reaping = make(map[time.Duration]bool)
	}
	h.reaping[grace] = true
	time.AfterFunc(grace, func() { h.cutOrphans(grace) })
}

// cutOrphans ends the dials that are more than the waiters, if they have had their grace.
func (h *host) cutOrphans(grace time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.reaping, grace)
	surplus := h.dialing - h.queue.len()
	now := time.Now()
	for c := range h.conns {
		if surplus <= 0 {
			return
		}
		if c.state == connDialing && c.cut {
			surplus-- // it is about to end
		} else if c.state == connDialing && age(now, c.dialAt) >= grace {
			c.cut = true
			c.cutDial()
			surplus--
		}
	}
	h.reapLocked(grace) // some have begun since
}
