package pool

import (
	"context"
	"time"

	"example.com/connwise/internal/wire"
)

// enqueueLocked queues the wish's waiter, which it makes if this is the request's first
// wait. One that waited before goes back to its place in the order.
func (h *host) enqueueLocked(ws wish, now time.Time) error {
	switch limit := h.cfg.MaxWaiters; {
	case h.t.closed():
		return &Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed}
	case *ws.w != nil:
		(*ws.w).since, (*ws.w).choosy = now, ws.taste != nil
		h.t.giveBell(*ws.w)
		h.queue.putBack(*ws.w)
	case limit > 0 && h.crowdedLocked(limit):
		h.tot.WaitTimeouts++
		return &Error{Phase: PhaseWait, Host: h.key.addr, Queued: h.queue.len(), Err: ErrTooManyWaiters}
	default:
		*ws.w = &waiter{since: now, ctx: ws.ctx, http1: ws.http1, choosy: ws.taste != nil}
		h.t.giveBell(*ws.w)
		h.queue.push(*ws.w)
		(*ws.w).met = h.queue.len()
		h.tot.Waited++
	}
	h.usedAt = now
	h.dialForQueueLocked()
	return nil
}

// wait waits until the wish's waiter is delivered to, its time is up or its request ends.
func (h *host) wait(ws wish) (grant, error) {
	w := *ws.w
	defer h.t.takeBell(w)
	var expired <-chan time.Time
	if max := h.cfg.MaxWait; max > 0 {
		expired = w.bell.after(max - w.spent - time.Since(w.since))
	}
	for {
		select {
		case d := <-w.ready:
			return h.delivered(ws.ctx, w, d)
		case <-expired:
			if ws.ctx.Err() != nil { // which came first is not known any more
				return grant{}, h.leave(w, wire.Ended(ws.ctx))
			}
			if err := h.expire(w); err != nil {
				return grant{}, err
			}
			// A dial is under way for it. Should that serve another one, this one waits
			// for capacity again.
			w.bell.after(h.cfg.MaxWait)
		case <-ws.ctx.Done():
			return grant{}, h.leave(w, wire.Ended(ws.ctx))
		case <-ws.cancel:
			return grant{}, h.leave(w, wire.ErrCanceled)
		}
	}
}

func (h *host) delivered(ctx context.Context, w *waiter, d delivery) (grant, error) {
	h.noteWait(w)
	if d.err == errForgotten || d.err == errSettle {
		return grant{}, d.err
	}
	if d.err == nil {
		return grant{c: d.c, reused: d.reused}, nil
	}
	switch { // what may well be why the dial failed (golang/go#16049)
	case ctx.Err() != nil:
		d.err = wire.Ended(ctx)
	case h.t.closed():
		d.err = ErrClosed
	}
	if !d.dialled {
		return grant{}, h.waitError(w, PhaseWait, 0, d.err)
	}
	return grant{}, &Error{Phase: PhaseDial, Host: h.key.addr, Err: d.err}
}

// expire ends w with ErrWaitTimeout if it waits for capacity. If a dial is under way
// for it, the dialer's limits end its wait.
func (h *host) expire(w *waiter) error {
	h.mu.Lock()
	defer h.unlock()
	if !w.queued || h.waitPhaseLocked(w) == PhaseDial {
		return nil
	}
	n := h.queue.len()
	h.queue.remove(w)
	h.tot.WaitTimeouts++
	h.noteWait(w)
	return h.waitError(w, PhaseWait, n, ErrWaitTimeout)
}

// leave takes w out of the queue. If it was delivered to in the meantime, what it got
// goes to the next.
func (h *host) leave(w *waiter, cause error) error {
	h.mu.Lock()
	phase, n := h.waitPhaseLocked(w), h.queue.len()
	h.noteWait(w)
	if w.queued {
		h.queue.remove(w)
		h.noteLeftLocked()
		h.unlock()
		return h.waitError(w, phase, n, cause)
	}
	h.mu.Unlock()
	if d := <-w.ready; d.c != nil {
		h.put(d.c)
	}
	return h.waitError(w, PhaseWait, 0, cause)
}

// noteWait is called by w's request when its wait is over, for now at least.
func (h *host) noteWait(w *waiter) {
	d := time.Since(w.since)
	w.spent += d
	w.unbooked, w.waited = w.unbooked+d, true
	h.waited.Add(int64(d))
}

// endWait is called when w's request has a connection, or has given up: why, err says. w is nil if
// it never waited, as most never do.
func (h *host) endWait(w *waiter, err error) {
	if w != nil || err != nil {
		h.traceWait(w, h.bookWait(w), err)
	}
}

// bookWait counts a wait that is over. A request that was
// given one that was no good has waited once, if it then had to wait again.
func (h *host) bookWait(w *waiter) (b booked) {
	if w == nil || !w.waited {
		return booked{}
	}
	b = booked{w.unbooked, true}
	h.waits.observe(w.unbooked)
	w.unbooked, w.waited = 0, false
	return b
}

// booked is what bookWait has counted, if it has.
type booked struct {
	took   time.Duration
	waited bool
}

// waitPhaseLocked says what w waits for: the dials under way cover the oldest waiters;
// and while no connection is in use there is none that could come free.
func (h *host) waitPhaseLocked(w *waiter) Phase {
	covered := h.coveredLocked()
	if h.dialing > 0 && h.inUseLocked() == 0 || covered > 0 && h.queue.index(w) < covered {
		return PhaseDial
	}
	return PhaseWait
}

func (h *host) waitError(w *waiter, phase Phase, queued int, cause error) *Error {
	e := &Error{Phase: phase, Host: h.key.addr, Err: cause}
	if phase == PhaseWait {
		e.Waited, e.Queued = w.spent, queued
	}
	return e
}
