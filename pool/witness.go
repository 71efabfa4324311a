package pool

import "time"

// What was learnt has to be seen again now and then, or it would grow old, and the first
// requests after that would meet the peer's timer. As connections leave the pool before
// that timer closes them, one that has reached its limit is kept open every now and then, as
// a witness: it carries no request any more, and the age at which the peer closes it is
// the confirmation, or the correction. If the peer doesn't, there was no such timer.

// keepWitnessLocked makes c, which is idle and has reached its limit, the host's witness if
// one is wanted.
func (h *host) keepWitnessLocked(c *conn, now time.Time) bool {
	switch {
	case c.uses == 0 || h.idleLimit(c.announced, true).from != limitLearnt || !h.known.used.unconfirmed(now):
		return false
	case h.witness != nil || h.queue.len() > 0 || h.t.closing() || c.epoch != h.epoch:
		return false
	case h.cfg.MaxIdlePerHost > 0 && len(h.idle) > h.cfg.MaxIdlePerHost:
		return false
	}
	h.witness = c
	c.state = connWitness
	return true
}

// judgeWitness says whether c has been a witness for long enough. h.mu is held.
func (c *conn) judgeWitness(cand candidate) (CloseReason, bool) {
	cand.limit = c.h.known.used.disproof
	if cand.limit == 0 {
		return ReasonIdleLimit, true // there is nothing to witness any more
	}
	reason, ok := judge(cand)
	return reason, !ok
}

// hear notes what the witness c, which the caller holds now and retires, has to say at the end
// of its time. Where the watch is late it is closed, and nobody knows yet. A machine that was
// asleep has seen nothing: then c was only too old.
func (h *host) hear(c *conn) {
	err := c.end()
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.noteSurvivalLocked(now.Sub(c.idleSince), now)
	case c.h2 == nil:
		h.noteIdleCloseLocked(c, idleCloseOf(err), now)
	}
}

// end is how the peer has ended c, nil if it hasn't.
func (c *conn) end() error {
	if c.h2 == nil {
		_, err := c.look()
		return err
	}
	if _, err := c.lookShared(true); err != nil {
		return err
	}
	if !c.h.stays(c) {
		return errLeaving
	}
	return nil
}

// oldestIdleLocked is the connection that has been idle longest, nil if none is.
func (h *host) oldestIdleLocked() *conn {
	switch {
	case h.witness != nil:
		return h.witness
	case len(h.idle) > 0:
		return h.idle[0]
	}
	return nil
}

// dropWitnessLocked takes the witness from the host, for the caller to retire. It is nil if
// there is none.
func (h *host) dropWitnessLocked() *conn {
	c := h.witness
	if c != nil {
		h.witness = nil
		h.t.idle.Add(-1)
		c.state = connInUse
	}
	return c
}

// makeRoomLocked gives the witness's slot to those who wait for one.
func (h *host) makeRoomLocked() {
	if c := h.dropWitnessLocked(); c != nil {
		h.leaveLocked(c, ReasonIdleLimit)
		go h.retire(c, ReasonIdleLimit) // which dials then
	}
}
