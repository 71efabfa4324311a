package pool

import (
	"context"
	"errors"
	"time"

	"example.com/connwise/health"
	"example.com/connwise/internal/wire"
)

// errForgotten: the host was dropped from the map between lookup and use, or was found to
// speak another protocol than the request needs. The request looks its host up again.
var errForgotten = errors.New("host forgotten")

// A grant is a connection in a request's hands, and how it came there.
type grant struct {
	c       *conn
	reused  bool
	wasIdle bool
	idle    time.Duration
}

// A wish is a request's for a connection.
type wish struct {
	ctx    context.Context
	cancel <-chan struct{} // http.Request.Cancel
	begun  bool            // the request isn't new: Shutdown lets it end
	http1  bool            // HTTP/2 can't carry it
	w      **waiter        // made when there is something to wait for

	caution *caution // what it asks of an idle connection; nil: nothing
}

// acquire returns a connection whose peer was alive a moment ago: the newest idle one
// or, whichever comes first, one that another request gives back or that a dial opens.
// It waits for capacity until MaxWait, and for anything until the request ends.
// The error is an *Error, or errForgotten.
func (h *host) acquire(ws wish) (grant, error) {
	defer func() { (*ws.w).end() }()
	for {
		g, err := h.take(ws)
		if err != nil {
			return grant{}, err
		}
		if g, err = h.admit(g, ws.caution); g.c != nil || err != nil {
			return g, err
		}
	}
}

// admit has the last word on a connection that was taken from the idle stack, or
// delivered. If it may not be used it is retired, and the grant is empty. An error means
// that there is no point in taking another.
func (h *host) admit(g grant, ca *caution) (grant, error) {
	if g.c.h2 != nil {
		return h.admitShared(g)
	}
	if g.reused && !g.wasIdle {
		// It was judged when it was handed over. On a busy machine its receiver may have
		// woken long after.
		reason, ok := h.judgeNow(g.c, ca)
		if !ok {
			h.retire(g.c, reason)
			return grant{}, nil
		}
		g.idle = age(time.Now(), g.c.idleSince)
	}
	if g.wasIdle && g.idle >= restAfter {
		g.c.watch.Use()
	}
	reason, err := g.c.look()
	if err == nil {
		return g, nil
	}
	if g.wasIdle {
		h.noteIdleClose(g.c, err)
	}
	h.dropStale(g.c, reason)
	if g.wasIdle || g.reused {
		h.suspect(g.idle, false)
		return grant{}, nil
	}
	// Straight from its dial: another dial may meet the same, so retry decides.
	return grant{}, g.c.describe(&Error{Phase: PhaseUnsent, Host: h.key.addr, Err: err})
}

func (h *host) judgeNow(c *conn, ca *caution) (CloseReason, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if reason, ok := judge(c.candidate(now)); !ok {
		return reason, false
	}
	if !ca.takes(c, now) {
		return ReasonUnconfirmed, false
	}
	return "", true
}

// look asks the kernel, as the last thing before the first byte, whether the peer has
// closed or sent something nobody asked for. A nil error means that it has not.
func (c *conn) look() (CloseReason, error) {
	if v, err := c.probe.Look(); v == health.Dead {
		return reasonOfLook(err), err
	}
	if c.peerClosed.Load() { // where a look can't tell
		return ReasonPeerClosed, errPeerClosed
	}
	return "", nil
}

// reasonOfLook is the close reason for what a look found.
func reasonOfLook(err error) CloseReason {
	if errors.Is(err, health.ErrSurplus) {
		return ReasonUnsolicited
	}
	return ReasonPeerClosed
}

// dropStale gives back a connection that the look found dead.
func (h *host) dropStale(c *conn, reason CloseReason) {
	h.mu.Lock()
	h.tot.Stale++
	h.mu.Unlock()
	h.drop(c, reason)
}

// take takes a connection that judge lets pass: one with a free stream, or the newest idle
// one; or it waits for one.
func (h *host) take(ws wish) (grant, error) {
	(*ws.w).end() // it was served, and what it was given is no good: its dial was somebody's
	for made := false; ; {
		now := time.Now()
		h.mu.Lock()
		if h.gone || ws.http1 && h.proto == protocolHTTP2 {
			h.mu.Unlock()
			return grant{}, errForgotten
		}
		if h.t.closed() || *ws.w == nil && !ws.begun && h.t.closing() {
			h.mu.Unlock()
			return grant{}, &Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed}
		}
		c, wasIdle := h.pickLocked(ws, now)
		if c == nil && !made {
			if old := h.tooOldLocked(ws, now); old != nil {
				h.mu.Unlock()
				h.drop(old, ReasonUnconfirmed)
				made = true // room for one dial
				continue
			}
		}
		if c == nil {
			err := h.enqueueLocked(ws, now)
			h.mu.Unlock()
			if err != nil {
				return grant{}, err
			}
			return h.wait(ws)
		}
		h.usedAt = now
		cand := c.candidate(now)
		used := h.holdLocked(c)
		h.mu.Unlock()
		reason, ok := judge(cand)
		if ok {
			return grant{c: c, reused: used, wasIdle: wasIdle, idle: cand.idle}, nil
		}
		h.drop(c, reason)
	}
}

// lookAgain looks at a connection that was granted a while ago, and judges its idle time.
// (Age, or a Drain that came meanwhile, doesn't matter to a request that has it.) If it
// may not be used any more it is retired, and the error says why.
func (h *host) lookAgain(g *grant) error {
	if g.c.h2 != nil {
		return h.lookAgainShared(g)
	}
	if g.reused || g.wasIdle {
		g.idle = age(time.Now(), g.c.idleSince)
		if reason, ok := judge(candidate{idle: g.idle, limit: g.c.idleLimit()}); !ok {
			h.dropStale(g.c, reason)
			return errStale
		}
	}
	if reason, err := g.c.look(); err != nil {
		h.dropStale(g.c, reason)
		return err
	}
	return nil
}

// enqueueLocked queues the wish's waiter, which it makes if this is the request's first
// wait. One that waited before goes back to its place in the order.
func (h *host) enqueueLocked(ws wish, now time.Time) error {
	switch limit := h.cfg.MaxWaiters; {
	case h.t.closed():
		return &Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed}
	case *ws.w != nil:
		(*ws.w).since = now
		h.queue.putBack(*ws.w)
	case limit > 0 && !h.canDialLocked() && h.queue.len()-h.coveredLocked() >= limit:
		h.tot.WaitTimeouts++
		return &Error{Phase: PhaseWait, Host: h.key.addr, Queued: h.queue.len(), Err: ErrTooManyWaiters}
	default:
		*ws.w = &waiter{ready: make(chan delivery, 1), since: now, ctx: ws.ctx, http1: ws.http1}
		h.queue.push(*ws.w)
		h.tot.Waited++
	}
	h.usedAt = now
	h.dialMissingLocked()
	return nil
}

// wait waits until the wish's waiter is delivered to, its time is up or its request ends.
func (h *host) wait(ws wish) (grant, error) {
	w := *ws.w
	var expired <-chan time.Time
	var timer *time.Timer
	if max := h.cfg.MaxWait; max > 0 {
		timer = time.NewTimer(max - w.spent - time.Since(w.since))
		defer timer.Stop()
		expired = timer.C
	}
	for {
		select {
		case d := <-w.ready:
			return h.delivered(ws.ctx, w, d)
		case <-expired:
			if err := h.expire(w); err != nil {
				return grant{}, err
			}
			// A dial is under way for it. Should that serve another one, this one waits
			// for capacity again.
			timer.Reset(h.cfg.MaxWait)
		case <-ws.ctx.Done():
			return grant{}, h.leave(w, wire.Ended(ws.ctx))
		case <-ws.cancel:
			return grant{}, h.leave(w, wire.ErrCanceled)
		}
	}
}

func (h *host) delivered(ctx context.Context, w *waiter, d delivery) (grant, error) {
	h.mu.Lock()
	h.noteWaitLocked(w)
	h.mu.Unlock()
	if d.err == errForgotten {
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
	defer h.mu.Unlock()
	if !w.queued || h.waitPhaseLocked(w) == PhaseDial {
		return nil
	}
	n := h.queue.len()
	h.queue.remove(w)
	h.tot.WaitTimeouts++
	h.noteWaitLocked(w)
	return h.waitError(w, PhaseWait, n, ErrWaitTimeout)
}

// leave takes w out of the queue. If it was delivered to in the meantime, what it got
// goes to the next.
func (h *host) leave(w *waiter, cause error) error {
	h.mu.Lock()
	phase, n := h.waitPhaseLocked(w), h.queue.len()
	h.noteWaitLocked(w)
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

// noteWaitLocked is called when w's wait is over, for now at least.
func (h *host) noteWaitLocked(w *waiter) {
	d := time.Since(w.since)
	w.spent += d
	h.tot.WaitTime += d
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
