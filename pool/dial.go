package pool

import (
	"context"
	"errors"
	"time"

	"example.com/connwise/dialer"
)

// dialMissingLocked is dialForQueueLocked when something has changed: those who wait for
// something better than what there is needn't have another dial.
func (h *host) dialMissingLocked() {
	h.settleLocked()
	h.dialForQueueLocked()
}

// dialForQueueLocked starts dials for the waiters that nothing under way will serve, as
// far as the limit and the window allow. A dial belongs to nobody: its connection goes to the
// oldest waiter, or becomes idle.
func (h *host) dialForQueueLocked() {
	if h.queue.len() > 0 && !h.canDialLocked() {
		h.makeRoomLocked()
		h.askTwinLocked()
	}
	for h.queue.len() > 0 && h.canDialLocked() && h.windowOpenLocked() && h.queue.len() > h.expectedLocked() && !h.t.closed() {
		if h.pausesLocked(time.Now()) {
			return
		}
		if h.dialLocked() == nil { // the twin has just taken the last slot
			h.askTwinLocked()
			return
		}
	}
}

func (h *host) dialMissing() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialMissingLocked()
}

// dialLocked starts a dial. The waiter it was started for, if there is one, gives its
// context's values (a hook may need them), not the context's end. It returns nil if the
// limit has just been reached.
func (h *host) dialLocked() *conn {
	if !h.takeSlot() {
		return nil
	}
	return h.dialOnSlotLocked()
}

// dialOnSlotLocked is dialLocked with a slot that is taken.
func (h *host) dialOnSlotLocked() *conn {
	c := &conn{h: h, epoch: h.epoch, dialAt: time.Now()}
	if h.conns == nil {
		h.conns = make(map[*conn]struct{})
	}
	h.conns[c] = struct{}{}
	h.dialing++
	h.tot.Dials++
	ctx := context.Background()
	if w := h.queue.undialled(); w != nil {
		w.dialled = true
		c.only1 = w.http1 && h.speaks.http1
		ctx, w.gate = detach(w.ctx)
	}
	ctx, c.cutDial = context.WithCancel(ctx)
	h.t.dials.Go(func() { h.dial(ctx, c) })
	h.noteSlowLocked(c)
	return c
}

// dial opens c. It ends when the dialer's limits, cutOrphans or Close say so.
func (h *host) dial(ctx context.Context, c *conn) {
	cut := c.cutDial
	defer cut()
	defer context.AfterFunc(h.t.ctx, cut)()
	c.trace = newConnTrace(h.t.set.Trace)
	route := h.route
	if c.only1 && route.TLS != nil {
		route.TLS = h.t.set.tls1
	}
	if route.Proxy != nil {
		route.Passed = func() { h.notePassed(c) }
	}
	d := h.t.set.dialer
	hook := h.followHook(&d, &route)
	link, err := d.Dial(ctx, route)
	if err == nil {
		err = h.checkProtocol(link)
	}
	if err != nil {
		if _, ok := errors.AsType[*dialer.HookError](err); ok {
			err = &CallerError{CallerHook, err}
		}
		h.dialFailed(c, hook, err)
		return
	}
	c.open(link)
	c.rest()
	now := time.Now() // a Trace's time isn't the dial's
	c.traceDialled(now)
	h.dialled(c, now)
}

// dialled counts a connection, which was opened at now, and hands it out. One that outlived its
// waiters goes idle, unless CloseIdleConnections, Drain or Close came meanwhile.
func (h *host) dialled(c *conn, now time.Time) {
	connect := connectTime(c.link)
	h.mu.Lock()
	h.window.succeeded(now.Sub(c.dialAt), !h.windowOpenLocked(), now)
	h.tot.DialTimes.observe(now.Sub(c.dialAt))
	h.endDialLocked(c)
	h.tot.Opened++
	h.noteProtocolLocked(c)
	h.noteAddrsLocked(c)
	h.noteDialedLocked(c.link, connect, now)
	h.noteOpenedLocked(c, now)
	h.noteThroughLocked(c, now)
	c.cutDial = nil // it holds the request's context, which must not live as long as the connection
	unused := h.queue.len() == 0
	if unused && !c.ahead {
		h.tot.DialsUnused++
	}
	reason := c.leaving
	switch {
	case reason != "":
	case c.only1 && h.proto == protocolHTTP2: // what it was for has gone to the twin: see expelLocked
		reason = ReasonMadeRoom
	case unused:
		reason = h.unwantedLocked(c)
	}
	if reason != "" {
		c.state = connInUse // in this one's hands
		h.leaveLocked(c, reason)
		h.mu.Unlock()
		h.retire(c, reason)
		return
	}
	c.epoch = h.epoch
	h.offer(c, time.Now())
	// For those whom the window held back, or for whom this one has no stream: it speaks HTTP/1,
	// or the peer's limit came before it was known what is spoken.
	h.dialMissing()
	h.yield()
}

// unwantedLocked says why a connection for which nobody waits isn't kept, or "".
func (h *host) unwantedLocked(c *conn) CloseReason {
	switch {
	case c.peerClosed.Load():
		return ReasonPeerClosed
	case h.t.set.disableKeepAlives:
		return ReasonNotKept
	case c.epoch != h.epoch || h.t.closing():
		return ReasonIdleClosed
	}
	return ""
}

// dialFailed gives up the slot and gives the error to the waiters that it leaves
// without hope.
func (h *host) dialFailed(c *conn, hook *hookCall, err error) {
	h.mu.Lock()
	c.state = connGone
	delete(h.conns, c)
	h.giveSlotLocked()
	h.endDialLocked(c)
	hook.loseLocked()
	h.tot.DialsFailed++
	stage := failedStage(err, c.cut || h.t.closed())
	h.tot.DialFailures.count(stage)
	told := DialEvent{Took: time.Since(c.dialAt), Ahead: c.ahead, Err: err, Stage: stage}
	if !c.cut { // a cut says nothing to who came after it
		h.window.failedOnce()
		h.noteDialErrorLocked(c, err, time.Now())
		h.failWaitersLocked(c, err)
	}
	h.dialMissingLocked()
	h.t.noteQuietLocked(h)
	h.unlock()
	h.passSlot()
	c.traceDialFailed(told)
}

// failWaitersLocked gives the error of c's dial to the oldest waiter, unless the other dials
// suffice for all; and where no connection is left that could serve the others, to all who
// had queued when the dial began: they have waited for it, and fifty dials more would tell
// them the same. Later ones get a dial of their own.
func (h *host) failWaitersLocked(c *conn, err error) {
	d := delivery{err: err, dialled: true}
	if h.queue.len() <= h.coveredLocked() {
		return
	}
	h.queue.pop().ready <- d
	for !h.hopefulLocked() && h.queue.head != nil && !h.queue.head.since.After(c.dialAt) {
		h.queue.pop().ready <- d
	}
}

// hopefulLocked tells whether a connection or a dial is there that may serve a waiter.
func (h *host) hopefulLocked() bool {
	for c := range h.conns {
		if c.leaving == "" && c.state != connWitness {
			return true
		}
	}
	return false
}
