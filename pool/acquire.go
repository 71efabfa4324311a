package pool

import (
	"context"
	"errors"
	"time"

	"example.com/connwise/health"
	"example.com/connwise/internal/h1"
)

// errForgotten: the host was dropped from the map between lookup and use.
var errForgotten = errors.New("host forgotten")

// A grant is a connection in a request's hands, and how it came there.
type grant struct {
	c       *conn
	reused  bool
	wasIdle bool
	idle    time.Duration
}

// acquire returns a connection whose peer was alive a moment ago: the newest idle one
// or, whichever comes first, one that another request gives back or that a dial opens.
// It waits for capacity until MaxWait, and for anything until ctx or cancel ends.
// The error is an *Error, or errForgotten.
func (h *host) acquire(ctx context.Context, cancel <-chan struct{}) (grant, error) {
	var w *waiter // made when there is something to wait for
	defer func() { w.end() }()
	for {
		c, fromIdle, err := h.take(ctx, cancel, &w)
		if err != nil {
			return grant{}, err
		}
		g, err := h.admit(c, fromIdle)
		if g.c != nil || err != nil {
			return g, err
		}
	}
}

// admit has the last word on a connection that was taken from the idle stack, or
// delivered. If it may not be used it is retired, and the grant is empty. An error means
// that there is no point in taking another.
func (h *host) admit(c *conn, fromIdle bool) (grant, error) {
	g := grant{c: c, reused: c.uses > 0, wasIdle: fromIdle}
	if g.reused && !fromIdle {
		// It was judged when it was handed over. On a busy machine its receiver may have
		// woken long after.
		if reason, ok := h.judgeNow(c); !ok {
			h.retire(c, reason)
			return grant{}, nil
		}
	}
	if fromIdle || g.reused {
		g.idle = age(time.Now(), c.idleSince)
	}
	reason, err := c.look()
	if err == nil {
		return g, nil
	}
	h.retireStale(c, reason)
	if fromIdle || g.reused {
		return grant{}, nil
	}
	// Straight from its dial: another dial may meet the same, so retry decides.
	return grant{}, c.describe(&Error{Phase: PhaseUnsent, Host: h.key.addr, Err: err})
}

func (h *host) judgeNow(c *conn) (CloseReason, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return judge(c.candidate(time.Now()))
}

// look asks the kernel, as the last thing before the first byte, whether the peer has
// closed or sent something nobody asked for. A nil error means that it has not.
func (c *conn) look() (CloseReason, error) {
	if c.peerClosed.Load() {
		return ReasonPeerClosed, errPeerClosed
	}
	v, err := c.probe.Look()
	switch {
	case v != health.Dead:
		return "", nil
	case errors.Is(err, health.ErrSurplus):
		return ReasonUnsolicited, err
	}
	return ReasonPeerClosed, err
}

// retireStale retires a connection that the look found dead.
func (h *host) retireStale(c *conn, reason CloseReason) {
	h.mu.Lock()
	h.tot.Stale++
	h.mu.Unlock()
	h.retire(c, reason)
}

// take takes the newest idle connection that judge lets pass, or waits for one.
func (h *host) take(ctx context.Context, cancel <-chan struct{}, w **waiter) (c *conn, fromIdle bool, err error) {
	for {
		now := time.Now()
		h.mu.Lock()
		if h.gone {
			h.mu.Unlock()
			return nil, false, errForgotten
		}
		if *w == nil && h.t.closing() {
			h.mu.Unlock()
			return nil, false, &Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed}
		}
		c := h.popIdleLocked()
		if c == nil {
			err := h.enqueueLocked(ctx, w, now)
			h.mu.Unlock()
			if err != nil {
				return nil, false, err
			}
			c, err = h.wait(ctx, cancel, *w)
			return c, false, err
		}
		h.usedAt = now
		reason, ok := judge(c.candidate(now))
		h.mu.Unlock()
		if ok {
			return c, true, nil
		}
		h.retire(c, reason)
	}
}

// enqueueLocked queues *w, which it makes if this is the request's first wait. One that
// waited before goes back to the front: it was the oldest when it was served.
func (h *host) enqueueLocked(ctx context.Context, w **waiter, now time.Time) error {
	switch limit := h.cfg.MaxWaiters; {
	case h.t.closed():
		return &Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed}
	case *w != nil:
		h.queue.pushFront(*w)
	case limit > 0 && !h.canDialLocked() && h.queue.len()-h.dialing >= limit:
		h.tot.WaitTimeouts++
		return &Error{Phase: PhaseWait, Host: h.key.addr, Queued: h.queue.len(), Err: ErrTooManyWaiters}
	default:
		*w = &waiter{ready: make(chan delivery, 1), since: now, ctx: ctx}
		h.queue.push(*w)
		h.tot.Waited++
	}
	h.usedAt = now
	h.dialMissingLocked()
	return nil
}

// wait waits until w is delivered to, its time is up or its request is cancelled.
func (h *host) wait(ctx context.Context, cancel <-chan struct{}, w *waiter) (*conn, error) {
	var expired <-chan time.Time
	if max := h.cfg.MaxWait; max > 0 {
		t := time.NewTimer(max - time.Since(w.since))
		defer t.Stop()
		expired = t.C
	}
	for {
		select {
		case d := <-w.ready:
			return h.delivered(ctx, w, d)
		case <-expired:
			expired = nil
			if err := h.expire(w); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, h.leave(w, h1.Ended(ctx))
		case <-cancel:
			return nil, h.leave(w, errRequestCanceled)
		}
	}
}

func (h *host) delivered(ctx context.Context, w *waiter, d delivery) (*conn, error) {
	h.mu.Lock()
	h.tot.WaitTime += time.Since(w.since)
	h.mu.Unlock()
	if d.err == nil {
		return d.c, nil
	}
	switch { // what may well be why the dial failed (golang/go#16049)
	case ctx.Err() != nil:
		d.err = h1.Ended(ctx)
	case h.t.closed():
		d.err = ErrClosed
	}
	if !d.dialled {
		return nil, h.waitError(w, PhaseWait, 0, d.err)
	}
	return nil, &Error{Phase: PhaseDial, Host: h.key.addr, Err: d.err}
}

// expire ends w with ErrWaitTimeout if it waits for capacity. If a dial is under way
// for it, the dialer's limits end its wait.
func (h *host) expire(w *waiter) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !w.queued || h.waitPhaseLocked(w) == PhaseDial {
		return nil
	}
	n := h.queue.len()
	h.queue.remove(w)
	h.tot.WaitTimeouts++
	h.tot.WaitTime += time.Since(w.since)
	return h.waitError(w, PhaseWait, n, ErrWaitTimeout)
}

// leave takes w out of the queue. If it was delivered to in the meantime, what it got
// goes to the next.
func (h *host) leave(w *waiter, cause error) error {
	h.mu.Lock()
	phase, n := h.waitPhaseLocked(w), h.queue.len()
	h.tot.WaitTime += time.Since(w.since)
	if w.queued {
		h.queue.remove(w)
		h.noteLeftLocked()
		h.mu.Unlock()
		return h.waitError(w, phase, n, cause)
	}
	h.mu.Unlock()
	if d := <-w.ready; d.c != nil {
		h.put(d.c)
	}
	return h.waitError(w, PhaseWait, 0, cause)
}

// waitPhaseLocked says what w waits for: the dials under way cover the oldest waiters;
// and while no connection is in use there is none that could come free.
func (h *host) waitPhaseLocked(w *waiter) Phase {
	if h.dialing > 0 && (h.inUseLocked() == 0 || h.queue.index(w) < h.dialing) {
		return PhaseDial
	}
	return PhaseWait
}

func (h *host) waitError(w *waiter, phase Phase, queued int, cause error) *Error {
	e := &Error{Phase: phase, Host: h.key.addr, Err: cause}
	if phase == PhaseWait {
		e.Waited, e.Queued = time.Since(w.since), queued
	}
	return e
}
