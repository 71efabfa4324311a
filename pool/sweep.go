package pool

import "time"

// sweepGrain is the least time between two sweeps of a host.
const sweepGrain = 5 * time.Millisecond

// upkeep is what a host is looked after with. Guarded by host.mu, but for listIndex.
type upkeep struct {
	sweeper *time.Timer // nil until something was due
	due     time.Time   // when it fires; zero: at rest

	stored    bool // it is in Transport.unused
	listed    bool // it is in Transport.idlers
	listIndex int  // where, guarded by idleHosts.mu
}

// sweepByLocked makes sure that the host is swept at the given time: idle connections are
// retired when their time is over, and the host is forgotten. Zero: there is no need. This is
// hygiene only: limits are kept at checkout. A timer for each host, and no goroutine,
// means that hosts have no lock in common here, and nobody looks at those that have nothing
// due.
func (h *host) sweepByLocked(at time.Time) {
	if at.IsZero() || !h.due.IsZero() && !at.Before(h.due) || h.gone || h.t.closed() {
		return
	}
	h.due = at
	wait := max(time.Until(at), sweepGrain)
	if h.sweeper == nil {
		h.sweeper = time.AfterFunc(wait, h.sweep)
	} else {
		h.sweeper.Reset(wait)
	}
}

// stopSweepLocked keeps sweeps away that haven't begun.
func (h *host) stopSweepLocked() {
	if h.sweeper != nil {
		h.sweeper.Stop()
	}
	h.due = time.Time{}
}

// sweep retires what is due and sees to it that the next sweep comes.
func (h *host) sweep() {
	now := time.Now()
	h.mu.Lock()
	h.due = time.Time{}
	h.mu.Unlock()
	h.forgetOld(now)
	next := h.dropIdleIf(func(c *conn) (CloseReason, bool) {
		if c.state == connWitness {
			return c.judgeWitness(c.candidate(now))
		}
		reason, ok := judge(c.candidate(now))
		return reason, !ok
	})
	if next.IsZero() {
		next = h.t.forget(h, now, forgetAfter)
	}
	h.mu.Lock()
	h.sweepByLocked(next)
	h.mu.Unlock()
}
