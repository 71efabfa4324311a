package pool

import (
	"slices"
	"time"
)

// This file has the idle stack: what goes in, and what takes out of it but requests.

// pushIdleLocked puts c into the idle stack, which is in the order of idleSince: the youngest
// is the one to be used next. Its last byte may have been read long ago, and it is given back
// only now.
func (h *host) pushIdleLocked(c *conn) {
	h.idle = append(h.idle, c)
	if len(h.idle) > 1 {
		h.oneIdle[0] = nil // it has moved, and would be kept for as long as the host
	}
	for i := len(h.idle) - 1; i > 0 && h.idle[i-1].idleSince.After(c.idleSince); i-- {
		h.idle[i-1], h.idle[i] = c, h.idle[i-1]
	}
	h.restLaterLocked(c)
	h.t.idle.Add(1)
}

// surplusLocked takes an idle connection for the caller to retire, if there are more than
// MaxIdlePerHost.
func (h *host) surplusLocked() *conn {
	if limit := h.cfg.MaxIdlePerHost; limit == 0 || h.idleLocked()-len(h.settling) <= limit {
		return nil
	}
	if c := h.dropWitnessLocked(); c != nil {
		return c
	}
	c := h.idle[0]
	h.removeIdleAtLocked(0)
	return c
}

// dropIdle retires c if it is idle. Otherwise its holder will.
func (h *host) dropIdle(c *conn, reason CloseReason) {
	h.mu.Lock()
	idle := h.takeIdleLocked(c)
	if idle {
		h.leaveLocked(c, reason)
	}
	h.mu.Unlock()
	if idle {
		h.retireAside(c, reason)
	}
}

// dropClosed retires c, which the peer has closed, if it is idle, and notes its age and how
// it was closed. err says that; nil: a look is to tell.
func (h *host) dropClosed(c *conn, err error) {
	now := time.Now()
	h.mu.Lock()
	idle := h.takeIdleLocked(c)
	h.mu.Unlock()
	if !idle {
		return
	}
	if err == nil {
		_, err = c.look()
	}
	reason := ReasonPeerClosed
	if err != nil {
		reason = reasonOfLook(err)
	}
	how := idleCloseOf(err)
	h.mu.Lock()
	h.noteIdleCloseLocked(c, how, now)
	h.leaveLocked(c, reason)
	h.mu.Unlock()
	h.retire(c, reason)
}

// takeIdleLocked takes c for the caller, who is to retire it, if it is idle.
func (h *host) takeIdleLocked(c *conn) bool {
	switch c.state {
	case connIdle:
		h.removeIdleLocked(c)
		return true
	case connWitness:
		return h.dropWitnessLocked() != nil
	}
	return h.unsettleLocked(c)
}

// dropIdleIf retires the idle connections for which drop gives a reason. It returns
// the earliest time at which one of the others expires, zero if none does.
func (h *host) dropIdleIf(drop func(*conn) (CloseReason, bool)) (next time.Time) {
	type dropped struct {
		c       *conn
		reason  CloseReason
		witness bool // at the end of its time
	}
	var dead []dropped
	take := func(c *conn) bool {
		reason, yes := drop(c)
		witness := yes && reason == ReasonIdleLimit && c.state == connIdle && h.keepWitnessLocked(c, time.Now())
		if yes && !witness {
			dead = append(dead, dropped{c, reason, c.state == connWitness && reason == ReasonIdleLimit})
			if c.state != connSettling {
				h.t.idle.Add(-1)
			}
			c.state = connInUse
			h.leaveLocked(c, reason)
		} else if at := c.expires(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		return yes
	}
	h.mu.Lock()
	if w := h.witness; w != nil && take(w) {
		h.witness = nil
	}
	h.idle = slices.DeleteFunc(h.idle, take)
	h.settling = slices.DeleteFunc(h.settling, take)
	h.mu.Unlock()
	for _, d := range dead {
		if d.witness {
			h.hear(d.c)
		}
		h.retire(d.c, d.reason)
	}
	return next
}

// removeIdleLocked takes c out of the idle stack: the caller holds it now.
func (h *host) removeIdleLocked(c *conn) {
	// From the end: what is looked for is mostly young.
	for i := len(h.idle) - 1; i >= 0; i-- {
		if h.idle[i] == c {
			h.removeIdleAtLocked(i)
			return
		}
	}
}

func (h *host) removeIdleAtLocked(i int) {
	h.idle[i].state = connInUse
	n := len(h.idle) - 1
	copy(h.idle[i:], h.idle[i+1:])
	h.idle[n] = nil
	h.idle = h.idle[:n]
	h.t.idle.Add(-1)
}
