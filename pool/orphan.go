package pool

import (
	"slices"
	"time"
)

// A dial that no request waits for any more goes on for a while: its connection may serve
// the next one, and a server whose handshake takes longer than its callers wait would
// otherwise never be reached. But only a few do, and not for as long as the dialer would let
// them, or the dials to a host that hangs would pile up (golang/go#76784).
const (
	orphanGrace = 5 * time.Second
	// A proxy that accepts and keeps silent holds a place of its own for each tunnel: until it
	// has connected to the origin, a dial that nobody waits for ends soon. But one that is only
	// slow would never be passed by callers who have less time than it takes: when so many dials
	// in a row have ended so, the next has the time of others.
	orphanGraceProxy = 25 * time.Millisecond
	orphansCutShort  = 4
	// spareDials is how many dials more than waiters may be left by those who give up waiting.
	spareDials = 4
)

// noteLeftLocked is called when a waiter has left the queue without a connection.
func (h *host) noteLeftLocked() {
	h.cutSpareLocked()
	h.reapLocked(h.nextGraceLocked())
}

// graceLocked is how long c's dial may go on when nobody waits for it.
func (h *host) graceLocked(c *conn) time.Duration {
	if h.route.Proxy == nil || c.passed || h.cutShort >= orphansCutShort {
		return orphanGrace
	}
	return orphanGraceProxy
}

// nextGraceLocked is the shortest grace of all dials.
func (h *host) nextGraceLocked() time.Duration {
	if h.route.Proxy == nil || h.dialing == 0 {
		return orphanGrace
	}
	for c := range h.conns {
		if c.state == connDialing && !c.cut && !c.ahead && h.graceLocked(c) < orphanGrace {
			return orphanGraceProxy
		}
	}
	return orphanGrace
}

// notePassed is called when the proxy has connected c's dial to the origin.
func (h *host) notePassed(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.passed = true
}

// cutSpareLocked ends the dials that are more than the waiters and a small reserve: the
// youngest, as the others will be done first.
func (h *host) cutSpareLocked() {
	surplus := h.orphansLocked() - spareDials
	if surplus <= 0 {
		return
	}
	var young []*conn
	for c := range h.conns {
		if c.state == connDialing && !c.cut && !c.ahead {
			young = append(young, c)
		}
	}
	slices.SortFunc(young, func(a, b *conn) int { return b.dialAt.Compare(a.dialAt) })
	for _, c := range young[:min(surplus, len(young))] {
		h.cutLocked(c)
	}
}

// cutLocked ends c's dial. It counts as a dial until that has been noticed.
func (h *host) cutLocked(c *conn) {
	c.cut = true
	h.cutting++
	if c.slow {
		h.slow--
	}
	if c.ahead {
		h.keeper.ahead--
	}
	c.cutDial()
}

// wantedDialsLocked counts the dials that aren't about to end for want of a waiter.
func (h *host) wantedDialsLocked() int { return h.dialing - h.cutting }

// endDialLocked takes c out of the dials.
func (h *host) endDialLocked(c *conn) {
	h.dialing--
	c.slowBy.Stop()
	c.slowBy = nil
	switch {
	case c.cut:
		h.cutting--
	case c.slow:
		h.slow--
	}
	if c.ahead && !c.cut {
		h.keeper.ahead--
	}
	h.keepNowLocked(time.Now())
}

// orphansLocked counts the dials that neither a waiter nor the keeper wants.
func (h *host) orphansLocked() int {
	return h.wantedDialsLocked() - h.keeper.ahead - h.queue.len()
}

// noteServedLocked is called when a waiter got a connection that another request gave
// back: the dial for it is now one too many, but a welcome one.
func (h *host) noteServedLocked() { h.reapLocked(orphanGrace) }

// reapLocked sees to it that the dials that are too many now end after the grace.
func (h *host) reapLocked(grace time.Duration) { h.reapInLocked(grace, grace) }

func (h *host) reapInLocked(wait, grace time.Duration) {
	if h.orphansLocked() <= 0 || h.reaping[grace] {
		return
	}
	if h.reaping == nil {
		h.reaping = make(map[time.Duration]bool)
	}
	h.reaping[grace] = true
	time.AfterFunc(wait, func() { h.cutOrphans(grace) })
}

// cutOrphans ends the dials that are more than the waiters, if they have had their grace.
func (h *host) cutOrphans(grace time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.reaping, grace)
	surplus, short := h.orphansLocked(), h.cutShort
	now, next := time.Now(), orphanGrace
	for c := range h.conns {
		if surplus <= 0 {
			break
		}
		if c.state != connDialing || c.cut || c.ahead {
			continue
		}
		if left := h.graceLocked(c) - age(now, c.dialAt); left > 0 {
			next = min(next, left) // it has begun since
			continue
		}
		if h.route.Proxy != nil && !c.passed {
			short = (h.cutShort + 1) % (orphansCutShort + 1) // begins anew when one had its time in vain
		}
		h.cutLocked(c)
		surplus--
	}
	h.cutShort = short
	h.reapInLocked(next, h.nextGraceLocked())
}
