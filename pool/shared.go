package pool

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"time"

	"example.com/connwise/internal/h2"
)

// An HTTP/2 connection is shared: many requests hold it at a time, each with a stream of
// its own. While none does, it lies in the idle stack like any other. While it is in use and
// takes one more, it is in host.shared. What the peer says about it comes through the
// methods of h2.Events, and the holds come and go by holdLocked and release.

// unlimited is the limit of a peer that doesn't say how many streams it takes.
const unlimited = math.MaxInt32

// sharing is what there is to know of a connection with streams. Guarded by host.mu.
type sharing struct {
	streams  int         // requests that hold it
	limit    int         // most that the peer takes; one until it has said
	told     bool        // the peer's first SETTINGS have come
	barredAt time.Time   // since when limit is zero
	suspect  bool        // a PING is to show whether it is alive
	doubted  time.Time   // since when
	inShared bool        // it is in host.shared
	failed   bool        // the request that let go last has failed on the wire
	leaving  CloseReason // it takes no new request, and is retired when the last lets go
	goAway   bool        // the peer said so
	failing  bool        // ConnClosed is about to come
	ended    bool        // it has come
	wasIdle  bool        // and it was idle then
	orphan   bool        // nobody holds it, and ConnClosed is to retire it
}

// takesLocked tells whether c can carry one more request.
func (c *conn) takesLocked() bool {
	if c.h2 == nil {
		return true
	}
	spent := c.h.t.set.disableKeepAlives && c.uses > 0
	return c.leaving == "" && !spent && !c.suspect && c.streams < c.limit && !c.peerClosed.Load()
}

// holdLocked takes c, which is nobody's or shared, for one request. used tells whether it
// was used before.
func (h *host) holdLocked(c *conn) (used bool) {
	c.state = connInUse
	used = c.uses > 0
	if c.h2 != nil {
		c.streams++
		c.uses++
		h.placeLocked(c)
	}
	return used
}

// placeLocked sees to it that c is in host.shared if it belongs there.
func (h *host) placeLocked(c *conn) {
	belongs := c.state == connInUse && c.streams > 0 && c.takesLocked()
	switch {
	case belongs == c.inShared:
		return
	case belongs:
		h.shared = append(h.shared, c)
	default:
		i := slices.Index(h.shared, c)
		h.shared = slices.Delete(h.shared, i, i+1)
	}
	c.inShared = belongs
}

// pickSharedLocked returns a connection in use that takes one more request, nil if there is
// none. The oldest is preferred: few connections are kept busy, and the others can rest.
func (h *host) pickSharedLocked() *conn {
	for len(h.shared) > 0 {
		c := h.shared[0]
		if c.takesLocked() {
			return c
		}
		h.placeLocked(c) // its peer has closed it
	}
	return nil
}

// serveLocked gives c to the oldest waiter, or its free streams to the oldest ones. It
// reports whether there was one. c is nobody's, or shared.
func (h *host) serveLocked(c *conn) (any bool) {
	for c.takesLocked() {
		w := h.queue.oldest(c.h2 != nil)
		if w == nil {
			break
		}
		h.queue.remove(w)
		w.ready <- delivery{c: c, reused: h.holdLocked(c)}
		h.noteServedLocked()
		if any = true; c.h2 == nil {
			break
		}
	}
	return any
}

// wakeLocked is called when c may take requests that it didn't take before.
func (h *host) wakeLocked(c *conn) {
	switch {
	case c.state == connIdle && h.queue.oldest(true) != nil && c.takesLocked():
		if _, ok := judge(c.candidate(time.Now())); ok { // else the sweeper is about to take it
			h.removeIdleLocked(c)
			h.serveLocked(c)
		}
	case c.state == connInUse && c.streams > 0:
		h.serveOnLocked(c)
	}
}

// serveOnLocked gives the free streams of c, which is in use, to the oldest waiters, unless it
// has to go: those who wait would keep a connection for ever that is too old, or was drained.
func (h *host) serveOnLocked(c *conn) {
	if h.queue.len() > 0 && c.takesLocked() {
		if reason, ok := judge(c.candidate(time.Now())); !ok {
			h.leaveLocked(c, reason)
			h.dialMissingLocked()
			return
		}
	}
	h.serveLocked(c)
	h.placeLocked(c)
}

// leaveLocked keeps new requests off c. The first reason counts.
func (h *host) leaveLocked(c *conn, reason CloseReason) {
	if c.leaving == "" {
		c.leaving = reason
	}
	h.placeLocked(c)
}

// release takes one request's hold back. failed says that the request failed on the wire. With the last one the connection becomes idle, or
// is retired.
func (h *host) release(c *conn, failed bool) (kept bool) {
	last := c.h2.LastRead()
	h.mu.Lock()
	if c.streams == 0 {
		panic("pool: connection given back twice")
	}
	c.streams--
	c.failed = failed
	if h.t.set.disableKeepAlives {
		h.leaveLocked(c, ReasonNotKept)
	}
	if c.streams > 0 {
		if c.leaving == "" {
			h.serveOnLocked(c)
		}
		kept = c.leaving == ""
		h.mu.Unlock()
		return kept
	}
	h.placeLocked(c)
	now := time.Now()
	c.idleSince = now
	if !last.IsZero() {
		c.idleSince = last
	}
	if reason, ok := h.judgeReturnLocked(c, now); !ok {
		h.leaveLocked(c, reason)
	}
	switch reason := c.leaving; {
	case c.failing && !c.ended:
		// ConnClosed knows why, and retires it. If it ends before its handshake is over, those
		// who wait for it are told first, or they would get another dial.
		c.orphan = true
		h.mu.Unlock()
		return false
	case reason != "":
		h.mu.Unlock()
		// Not here: StreamDone calls this, maybe from whoever writes to c, and closing c may wait
		// for that.
		go h.retire(c, reason)
		return false
	}
	h.offer(c, now)
	return true
}

// drop gives back a connection that is no good any more, and that nobody else should get.
func (h *host) drop(c *conn, reason CloseReason) {
	if c.h2 == nil {
		h.retire(c, reason)
		return
	}
	h.mu.Lock()
	h.leaveLocked(c, reason)
	h.mu.Unlock()
	h.release(c, false)
}

// StreamLimit is told how many streams the peer takes: with its first SETTINGS, and when
// it changes its mind. Above a lowered limit the open ones go on.
func (c *conn) StreamLimit(n uint32) {
	h := c.h
	h.mu.Lock()
	defer h.mu.Unlock()
	c.told = true
	c.limit = int(min(n, unlimited))
	if c.limit > 0 {
		h.streamsEach = c.limit
	} else {
		c.barredAt = time.Now()
		time.AfterFunc(barredGrace, h.dialMissing)
	}
	h.wakeLocked(c)
	h.placeLocked(c)
	h.dialMissingLocked()
}

// GoingAway is told that the connection takes no new stream. Those that the peer has
// accepted go on.
func (c *conn) GoingAway(g h2.GoAway) {
	h := c.h
	reason := ReasonGoAway
	h.mu.Lock()
	switch {
	case g.Failing:
		reason = ReasonError // until ConnClosed says more
		c.failing = true
	case g.Local:
		reason = ReasonWornOut
	case !c.goAway:
		c.goAway = true
		h.tot.GoAways++
	}
	h.leaveLocked(c, reason)
	idle := h.takeIdleLocked(c)
	if idle && g.Failing {
		c.orphan, c.wasIdle, idle = true, true, false
	}
	if c.state == connInUse && c.told { // else ConnClosed tells those who wait
		h.dialSpareLocked(c.streams)
	}
	h.mu.Unlock()
	if idle {
		h.retire(c, reason)
	}
}

// Suspect is told that it's in doubt whether the peer is there, and later whether it is.
func (c *conn) Suspect(yes bool) {
	h := c.h
	h.mu.Lock()
	defer h.mu.Unlock()
	c.suspect = yes
	h.placeLocked(c)
	if yes {
		c.doubted = time.Now()
		time.AfterFunc(doubtGrace, h.dialMissing)
	} else {
		h.wakeLocked(c)
	}
	h.dialMissingLocked()
}

// ConnClosed is told that the connection is over.
func (c *conn) ConnClosed(err error) {
	c.peerClosed.Store(true) // it's nothing that could be used, whoever closed it
	h := c.h
	h.mu.Lock()
	reason, own := c.endReason(err), c.givenUpLocked()
	if c.failing && c.leaving == ReasonError {
		c.leaving = reason // now it's known what was wrong with it
	}
	h.leaveLocked(c, reason)
	reason, c.ended = c.leaving, true
	idle := h.takeIdleLocked(c) || c.orphan // else who lets go last retires it
	if !c.told && !own && c.state != connGone {
		// It was never a connection that works. Whoever waited for its dial has waited for
		// this, and would wait again with the next one.
		h.failWaitersLocked(c, handshakeError(h, err))
	}
	h.dialMissingLocked()
	h.mu.Unlock()
	if idle {
		h.retire(c, reason)
	}
}

// givenUpLocked tells whether this side has left c, for a reason that says nothing of the peer.
func (c *conn) givenUpLocked() bool {
	switch c.leaving {
	case "", ReasonError, ReasonPeerClosed:
		return false
	}
	return true
}

// endReason names the reason for the end of a shared connection. h.mu is held.
func (c *conn) endReason(err error) CloseReason {
	switch {
	case c.killed.Load() != nil:
		return ReasonClosed
	case isTimeout(err):
		return ReasonTimeout
	case (c.state == connIdle || c.wasIdle) && !c.failed:
		return ReasonPeerClosed
	case endedByPeer(err):
		return ReasonPeerAborted
	}
	return ReasonError
}

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
	limit := c.idleLimit()
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
// the time, and the read loop sees an end as soon as anybody.
func (c *conn) lookShared(wasIdle bool) (CloseReason, error) {
	for since := (time.Time{}); ; {
		if c.peerClosed.Load() {
			return ReasonPeerClosed, errPeerClosed
		}
		if !wasIdle {
			return "", nil
		}
		ended, unread := c.heard.Look()
		switch {
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
