package pool

import (
	"errors"
	"runtime"
	"time"
)

// admitShared is admit for a connection that others use too, or may.
func (h *host) admitShared(g grant) (grant, error) {
	reason, err := g.c.lookShared(g.wasIdle)
	switch {
	case err == nil && g.reused && !g.wasIdle && g.c.overdue(time.Now()):
		h.dropStale(g.c, ReasonIdleLimit)
		return grant{}, nil
	case err == nil && (!g.wasIdle || h.stays(g.c)):
		return g, nil
	case err == nil: // a GOAWAY was among the bytes that had arrived
		h.release(g.c, false)
		return grant{}, nil
	}
	stale := g.wasIdle || g.reused || h.usedByOthers(g.c)
	h.dropStale(g.c, reason)
	if stale {
		return grant{}, nil
	}
	h.noteUseless(g.c)
	return grant{}, g.c.describe(&Error{Phase: PhaseUnsent, Host: h.key.addr, Err: err})
}

// lookAgainShared is lookAgain for a shared connection.
func (h *host) lookAgainShared(g *grant) error {
	reason, err := g.c.lookShared(g.c.quiet())
	if err != nil {
		h.dropStale(g.c, reason)
		return err
	}
	if !h.stays(g.c) {
		h.release(g.c, false)
		return errLeaving
	}
	if (g.reused || g.wasIdle) && g.c.overdue(time.Now()) {
		h.dropStale(g.c, ReasonIdleLimit)
		return errStale
	}
	return nil
}

// overdue tells whether c has been idle for its peer for as long as its limit says. Those
// who hold it may have no stream yet, as a hook of theirs runs.
func (c *conn) overdue(now time.Time) bool {
	limit := c.h.idleLimit(0, true).limit
	if limit == 0 {
		return false
	}
	since := c.h2.LastRead()
	if since.IsZero() {
		since = c.opened
	}
	if age(now, since) < limit {
		return false
	}
	return c.quiet()
}

// quiet tells whether c has no stream.
func (c *conn) quiet() bool {
	at := c.h2.State()
	return at.Streams+at.Queued == 0
}

var errLeaving = errors.New("pool: the peer takes no new request on the connection")

func (h *host) stays(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !c.goAway && !c.failing && c.leaving != ReasonWornOut
}

// usedByOthers tells whether c has carried more requests than the caller's.
func (h *host) usedByOthers(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return c.uses > 1
}

const (
	readPatience = 10 * time.Millisecond // for the read loop to take what has arrived
	readPause    = 20 * time.Microsecond
)

// lookShared looks whether the peer of a shared connection has closed it. If it was idle,
// what has arrived is read first: it may be a GOAWAY. On one that is in use bytes come all
// the time.
func (c *conn) lookShared(wasIdle bool) (CloseReason, error) {
	for since := (time.Time{}); ; {
		if c.peerClosed.Load() {
			return ReasonPeerClosed, errPeerClosed
		}
		ended, unread := c.hear(wasIdle)
		switch {
		case !wasIdle && !ended:
			return "", nil
		case ended:
			return ReasonPeerClosed, errPeerClosed
		case !unread && c.h2.Resting():
			return "", nil
		case since.IsZero():
			since = time.Now()
			runtime.Gosched()
		case time.Since(since) > readPatience:
			return "", nil // the machine is busy, and the bytes are most likely of no interest
		default:
			time.Sleep(readPause)
		}
	}
}

// fewHolds is with how many requests on it a connection is still looked at: the others may
// have ended a moment ago. With more, the read loop sees an end as soon as anybody.
const fewHolds = 2

// hear looks at the socket of a connection that is idle, or nearly.
func (c *conn) hear(wasIdle bool) (ended, unread bool) {
	if !wasIdle {
		c.h.mu.Lock()
		busy := c.streams > fewHolds
		c.h.mu.Unlock()
		if busy {
			return false, false
		}
	}
	c.hearMu.Lock()
	defer c.hearMu.Unlock()
	return c.heard.Look()
}
