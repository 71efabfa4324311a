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

func (h *host) orphanGrace() time.Duration {
	if h.route.Proxy != nil {
		return orphanGraceProxy
	}
	return orphanGrace
}

// noteLeftLocked is called when a waiter has left the queue without a connection.
func (h *host) noteLeftLocked() {
	if h.dialing > h.queue.len() && !h.reaping {
		h.reaping = true
		time.AfterFunc(h.orphanGrace(), h.cutOrphans)
	}
}

// cutOrphans ends the dials that are more than the waiters, if they have had their grace.
func (h *host) cutOrphans() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reaping = false
	surplus := h.dialing - h.queue.len()
	now := time.Now()
	for c := range h.conns {
		if surplus <= 0 {
			return
		}
		if c.state == connDialing && c.cut {
			surplus-- // it is about to end
		} else if c.state == connDialing && age(now, c.dialAt) >= h.orphanGrace() {
			c.cut = true
			c.cutDial()
			surplus--
		}
	}
	h.noteLeftLocked() // some may have begun since
}
