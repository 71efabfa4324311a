package pool

import (
	"context"
	"errors"
	"slices"
	"time"
)

// PreferFresh returns a context whose requests prefer a connection that was opened after this
// call to one that was there before: when a connection was lost that had been used, its peer may
// be about to close the others too, as a proxy does that reloads. The last call counts. Package
// retry does this for the attempt after such a loss.
//
// It is a preference. Where there is no such connection, one is dialled for the request, if
// nothing stands in the way of that: not the limit of connections, the dial window, or a pause
// because the host gives connections up. Else, or if the dial fails or takes longer than a second,
// the request takes what there is. So it does when a connection comes free before the dial is
// done, as its peer has just answered. Under MaxConnsPerHost idle connections are used rather than
// closed to make room: the one that was lost has left room for one, and if the dial failed the
// request would have nothing. It combines with AvoidAddr; a connection that meets one of both
// preferences is better than none, an address that isn't avoided better than a fresh connection.
//
// An HTTP/2 connection is as good if something has come from its peer since the call, the
// answer to a PING, say. One that has nothing to show is passed over for a new one, but no more
// than one is opened at a time: those whom it doesn't carry take what there is.
func PreferFresh(ctx context.Context) context.Context {
	return withOptions(ctx, func(o *options) { o.fresh = time.Now() })
}

// errSettle: what the request prefers isn't to be had for now, and something else is there.
var errSettle = errors.New("no such connection for now")

// A taste is what a request prefers, if it can have it. A nil taste likes everything.
type taste struct {
	avoid []string  // no address of these: see avoid.go
	fresh time.Time // a connection that was opened later; zero: any
}

// taste is nil if the request has no preference, nearly always.
func (c *call) taste() *taste {
	avoid, fresh := c.avoided(), c.opts.fresh
	if len(avoid) == 0 && fresh.IsZero() || c.settled {
		return nil
	}
	return &taste{avoid, fresh}
}

func (ta *taste) wantsFresh() bool { return ta != nil && !ta.fresh.IsZero() }

func (ta *taste) isElsewhere(c *conn) bool { return !slices.Contains(ta.avoid, c.addr) }

// isFresh tells whether c was opened later, or is being opened, as an HTTP/2 connection is until the
// peer's SETTINGS have come, or has shown later that its peer is there.
func (ta *taste) isFresh(c *conn) bool {
	return ta.fresh.IsZero() || c.opened.After(ta.fresh) || c.aliveAt.After(ta.fresh) || c.h2 != nil && !c.told
}

func (ta *taste) likes(c *conn) bool { return ta.isElsewhere(c) && ta.isFresh(c) }

// noteSigns notes when something came from the peers of the host's HTTP/2 connections. h2 is not
// asked under mu.
func (h *host) noteSigns() {
	if !h.speaks.http2 {
		return
	}
	var asked []*conn
	h.mu.Lock()
	for c := range h.conns {
		if c.state != connDialing && c.h2 != nil {
			asked = append(asked, c)
		}
	}
	h.mu.Unlock()
	for _, c := range asked {
		at := c.h2.LastRead()
		h.mu.Lock()
		c.aliveAt = at
		h.mu.Unlock()
	}
}

// pickPreferredLocked is pickLocked for a wish with a taste. If it has decided there may be no
// connection still: a dial is better than what there is.
func (h *host) pickPreferredLocked(ws wish, now time.Time) (c *conn, wasIdle, decided bool) {
	c, at := h.findLocked(&ws, now, ws.taste.likes)
	if c == nil {
		fresh, freshAt := h.findLocked(&ws, now, ws.taste.isFresh)
		if h.dialIsBetterLocked(ws.taste, fresh == nil, now) {
			return nil, false, true
		}
		c, at = h.findLocked(&ws, now, ws.taste.isElsewhere)
		if c == nil {
			c, at = fresh, freshAt
		}
	}
	if c != nil && at >= 0 {
		h.removeIdleAtLocked(at)
	}
	return c, at >= 0, c != nil
}

// findLocked finds a connection for the wish that passes: one that carries others already, with
// at -1, or the newest idle one, at its place in the stack.
func (h *host) findLocked(ws *wish, now time.Time, passes func(*conn) bool) (c *conn, at int) {
	if !ws.http1 {
		for _, c := range h.shared {
			if c.takesLocked() && !ws.caution.shuns(c) && passes(c) {
				return c, -1
			}
		}
	}
	for i := len(h.idle) - 1; i >= 0; i-- {
		if c := h.idle[i]; passes(c) && ws.takes(c, now) {
			return c, i
		}
	}
	return nil, -1
}

// dialIsBetterLocked tells whether a request that waits now gets a new connection by a dial, and
// has reason to prefer that to all there is. none says that no fresh one is there.
func (h *host) dialIsBetterLocked(ta *taste, none bool, now time.Time) bool {
	newer := none && ta.wantsFresh()
	elsewhere := len(ta.avoid) > 0 && h.named > len(ta.avoid) && h.proto != protocolHTTP2
	if newer && h.queue.len() < h.openingLocked() {
		return true // by one that is under way for nobody
	}
	return (newer || elsewhere) && h.dialsAtOnceLocked(now)
}

// dialsAtOnceLocked tells whether a request that waits now has a dial started. With HTTP/2 one is
// under way at a time, and with a twin the last slot may be gone by then.
func (h *host) dialsAtOnceLocked(now time.Time) bool {
	switch {
	case h.cfg.MaxConnsPerHost > 0 && h.twin() != nil, h.proto == protocolHTTP2 && h.coveredLocked() > 0:
		return false
	}
	return h.queue.len() >= h.expectedLocked() && h.canDialLocked() && h.windowOpenLocked() && !h.pausesLocked(now)
}

// openingLocked is how many requests what is being opened is going to carry, as far as that is
// known: dials, but for those that take long, and HTTP/2 connections before the peer's SETTINGS.
func (h *host) openingLocked() int {
	if h.proto != protocolHTTP2 {
		return h.wantedDialsLocked() - h.slow
	}
	each, n := h.eachLocked(), 0
	for c := range h.conns {
		switch {
		case c.state == connDialing && (c.cut || c.slow):
		case c.state == connDialing:
			n += each
		case c.h2 != nil && !c.told && c.leaving == "" && !c.suspect:
			n += each - c.streams
		}
	}
	return n
}

// settleLocked sends the waiters back to what there is who hoped for something better, and for
// whom nothing is being opened any more.
func (h *host) settleLocked() {
	if h.queue.choosy == 0 || !h.readyLocked() {
		return
	}
	left := h.openingLocked()
	for w := h.queue.head; w != nil; {
		next := w.next
		if left--; left < 0 && w.choosy {
			h.queue.remove(w)
			w.ready <- delivery{err: errSettle}
		}
		w = next
	}
}

// readyLocked tells whether a connection is there that takes a request.
func (h *host) readyLocked() bool {
	return slices.ContainsFunc(h.idle, (*conn).takesLocked) || slices.ContainsFunc(h.shared, (*conn).takesLocked)
}

// settles tells whether a wish with a taste that ended with err should take what there is: a
// preference is no reason to fail, if its dial does, or what that has opened is dead.
func (h *host) settles(ws *wish, err error) bool {
	if err == errSettle {
		ws.taste = nil
		return true
	}
	e, ok := err.(*Error)
	if !ok || e.Phase != PhaseDial && e.Phase != PhaseUnsent || ws.taste == nil || ws.ctx.Err() != nil {
		return false
	}
	ws.taste = nil
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.readyLocked() && !h.t.closed()
}
