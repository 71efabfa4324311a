package pool

import (
	"context"
	"errors"
	"time"

	"example.com/connwise/dialer"
)

var errHTTP2 = errors.New("pool: the dial hook negotiated HTTP/2, which this version doesn't speak")

func (h *host) canDialLocked() bool {
	return h.cfg.MaxConnsPerHost == 0 || len(h.conns) < h.cfg.MaxConnsPerHost
}

// dialMissingLocked starts a dial for each waiter that none under way will serve, as
// far as the limit allows. A dial belongs to nobody: its connection goes to the oldest
// waiter, or becomes idle. The waiter it was started for gives its context's values
// (a hook may need them), not the context's end.
func (h *host) dialMissingLocked() {
	for h.queue.len() > h.dialing && h.canDialLocked() && !h.t.closed() {
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
			ctx, w.gate = detach(w.ctx)
		}
		ctx, c.cutDial = context.WithCancel(ctx)
		h.t.dials.Go(func() { h.dial(ctx, c) })
	}
}

// dial opens c. It ends when the dialer's limits, cutOrphans or Close say so.
func (h *host) dial(ctx context.Context, c *conn) {
	cut := c.cutDial
	defer cut()
	defer context.AfterFunc(h.t.ctx, cut)()
	link, err := h.t.set.dialer.Dial(ctx, h.route)
	if err == nil {
		err = h.checkProto(link)
	}
	if err != nil {
		if _, hook := errors.AsType[*dialer.HookError](err); hook {
			err = &CallerError{CallerHook, err}
		}
		h.dialFailed(c, err)
		return
	}
	c.open(link)
	c.rest()
	h.dialled(c)
}

// checkProto refuses a connection on which the peer expects another protocol. It can
// only come from a caller's own TLS dial hook: the pool's handshakes don't offer one.
func (h *host) checkProto(l *dialer.Link) error {
	if l.Proto == "h2" {
		l.Conn.Close()
		return &CallerError{CallerHook, &dialer.Error{Stage: dialer.StageTLS, Addr: h.key.addr, Err: errHTTP2}}
	}
	return nil
}

// dialled counts an opened connection and hands it out. One that outlived its waiters
// goes idle, unless CloseIdleConnections, Drain or Close came meanwhile.
func (h *host) dialled(c *conn) {
	h.mu.Lock()
	h.dialing--
	h.tot.Opened++
	c.cutDial = nil // it holds the request's context, which must not live as long as the connection
	unused := h.queue.len() == 0
	if unused {
		h.tot.DialsUnused++
	}
	if reason := h.unwantedLocked(c); unused && reason != "" {
		h.mu.Unlock()
		h.retire(c, reason)
		return
	}
	c.epoch = h.epoch
	h.offer(c, time.Now())
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
// without hope. With other dials under way or connections in use that is the oldest;
// with none left, it is all who had queued when this dial began: they have waited for
// it, and fifty dials more would tell them the same. Later ones get a dial of their own.
func (h *host) dialFailed(c *conn, err error) {
	h.mu.Lock()
	c.state = connGone
	delete(h.conns, c)
	h.dialing--
	h.tot.DialsFailed++
	d := delivery{err: err, dialled: true}
	if w := h.queue.head; w != nil && !c.cut { // a cut says nothing to who came after it
		h.queue.pop()
		w.ready <- d
		for len(h.conns) == 0 && h.queue.head != nil && !h.queue.head.since.After(c.dialAt) {
			h.queue.pop().ready <- d
		}
	}
	h.dialMissingLocked()
	h.t.noteQuietLocked(h)
	empty := h.emptyLocked()
	h.mu.Unlock()
	if empty {
		h.t.sweepForgotten()
	}
}
