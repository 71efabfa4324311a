package pool

import (
	"context"
	"errors"
	"time"
)

// errForgotten: the host was dropped from the map between lookup and use, or was found to
// speak another protocol than the request needs. The request looks its host up again.
var errForgotten = errors.New("host forgotten")

// A grant is a connection in a request's hands, and how it came there.
type grant struct {
	c       *conn
	reused  bool
	wasIdle bool
	rested  bool      // the watcher is to be told
	at      time.Time // when it was taken, if it was used before
	idle    time.Duration
	late    bool // it wasn't looked at: the exchange is to do that
}

// A wish is a request's for a connection.
type wish struct {
	ctx    context.Context
	cancel <-chan struct{} // http.Request.Cancel
	begun  bool            // the request isn't new: Shutdown lets it end
	http1  bool            // HTTP/2 can't carry it
	w      **waiter        // made when there is something to wait for

	caution *caution // what it asks of an idle connection; nil: nothing
	taste   *taste   // what it would rather have; nil: anything
	late    bool     // it can be looked at when the request is written: see looklate.go
}

// speaks tells whether c, which is idle, can carry the wish's request.
func (ws *wish) speaks(c *conn) bool { return c.takesLocked() && !(ws.http1 && c.h2 != nil) }

// takes tells whether c, which is idle, will do.
func (ws *wish) takes(c *conn, now time.Time) bool { return ws.speaks(c) && ws.caution.takes(c, now) }

// acquire returns a connection whose peer was alive a moment ago: the newest idle one
// or, whichever comes first, one that another request gives back or that a dial opens.
// It waits for capacity until MaxWait, and for anything until the request ends.
// The error is an *Error, or errForgotten.
func (h *host) acquire(ws wish) (g grant, err error) {
	defer func() {
		(*ws.w).end()
		h.endWait(*ws.w, err)
	}()
	if ws.taste.wantsFresh() {
		h.noteSigns()
	}
	for {
		g, err = h.take(ws)
		if err == nil {
			g, err = h.admit(g, &ws)
		}
		switch {
		case g.c != nil:
			return g, nil
		case err != nil && !h.settles(&ws, err):
			return grant{}, err
		}
	}
}

// take takes a connection that judge lets pass: one with a free stream, or the newest idle
// one; or it waits for one.
func (h *host) take(ws wish) (grant, error) {
	(*ws.w).end() // it was served, and what it was given is no good: its dial was somebody's
	for made := false; ; {
		now := time.Now()
		if !h.mu.TryLock() {
			if g, ok := h.pickUp(ws, now); ok {
				return g, nil
			}
			h.mu.Lock()
		}
		if h.gone || ws.http1 && h.proto == protocolHTTP2 {
			h.mu.Unlock()
			return grant{}, errForgotten
		}
		if h.t.closed() || *ws.w == nil && !ws.begun && h.t.closing() {
			h.mu.Unlock()
			return grant{}, &Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed}
		}
		c, wasIdle := h.pickLocked(ws, now)
		if c == nil && h.tray.laden() { // else it would dial beside a connection that is there
			h.giveBackTrayLocked()
			continue
		}
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
		used, rested := h.holdLocked(c), c.wakeLocked(cand.idle)
		h.mu.Unlock()
		reason, ok := judge(cand)
		if ok {
			return grant{c: c, reused: used, wasIdle: wasIdle, rested: rested, at: now, idle: cand.idle}, nil
		}
		h.drop(c, reason)
	}
}
