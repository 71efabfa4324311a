package pool

import (
	"context"
	"time"

	"example.com/connwise/internal/wire"
)

// enter takes a slot, and waits for one if it has to. The error is an *Error of PhaseWait.
func (h *guardHost) enter(ctx context.Context) error {
	h.mu.Lock()
	h.visits--
	h.usedAt = time.Now()
	limit := h.cfg.MaxConnsPerHost
	switch {
	case ctx.Err() != nil:
		h.mu.Unlock()
		return &Error{Phase: PhaseWait, Host: h.addr, Err: wire.Ended(ctx)}
	case limit == 0 || h.slots < limit:
		h.slots++
		h.beginLocked()
		h.mu.Unlock()
		return nil
	case h.cfg.MaxWaiters > 0 && h.queue.len() >= h.cfg.MaxWaiters:
		h.tot.WaitTimeouts++
		e := &Error{Phase: PhaseWait, Host: h.addr, Queued: h.queue.len(), Err: ErrTooManyWaiters}
		h.mu.Unlock()
		h.traceWait(0, e.Queued, e)
		return e
	}
	w := &waiter{ready: make(chan delivery, 1), since: h.usedAt}
	h.queue.push(w)
	w.met = h.queue.len()
	h.tot.Waited++
	h.mu.Unlock()
	return h.wait(ctx, w)
}

// beginLocked counts the dial that a slot is taken for.
func (h *guardHost) beginLocked() {
	h.dialing++
	h.tot.Dials++
}

// wait waits until the slot comes, the time is up or ctx ends.
func (h *guardHost) wait(ctx context.Context, w *waiter) error {
	var expired <-chan time.Time
	if max := h.cfg.MaxWait; max > 0 {
		timer := time.NewTimer(max)
		defer timer.Stop()
		expired = timer.C
	}
	var err error
	select {
	case <-w.ready:
		took := time.Since(w.since)
		h.mu.Lock()
		h.waitedLocked(took)
		h.beginLocked()
		h.mu.Unlock()
		h.traceWait(took, w.met, nil)
		return nil
	case <-expired:
		err = ErrWaitTimeout
	case <-ctx.Done():
		err = wire.Ended(ctx)
	}
	e := h.leave(w, err)
	h.traceWait(e.Waited, w.met, e)
	return e
}

// leave takes w out of the queue. If it was given a slot in the meantime, the next gets it.
func (h *guardHost) leave(w *waiter, cause error) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &Error{Phase: PhaseWait, Host: h.addr, Waited: time.Since(w.since), Queued: h.queue.len(), Err: cause}
	h.waitedLocked(e.Waited)
	if cause == ErrWaitTimeout {
		h.tot.WaitTimeouts++
	}
	if w.queued {
		h.queue.remove(w)
		return e
	}
	h.freeLocked()
	return e
}

func (h *guardHost) waitedLocked(d time.Duration) {
	h.tot.WaitTime += d
	h.tot.WaitTimes.observe(d)
}

// freeLocked gives a slot to the oldest waiter.
func (h *guardHost) freeLocked() {
	if w := h.queue.pop(); w != nil {
		w.ready <- delivery{}
		return
	}
	h.slots--
}
