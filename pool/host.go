package pool

import (
	"sync"
	"sync/atomic"
	"time"

	"example.com/connwise/dialer"
)

// A host is everything the pool knows of one origin on one way (direct, or by one
// proxy): its connections, the requests that wait for one, and its counters.
//
// What every request touches lies together. Of a pool with thousands of hosts nothing is in the
// processor's cache when a request comes, and each line of it takes as long to come as a
// hundred instructions.
type host struct {
	firstAlias alias // of aliases

	t      *Transport
	limits atomic.Pointer[idleLimits] // what follows from known
	given  given
	// trips are the requests without an answer. One may hold no connection and not wait for
	// one either, as its last one failed and it is about to be sent again.
	trips atomic.Int64

	slots     *slots // its own, or its twin's
	own       slots
	place     int8        // in slots. Never changes, as what follows
	speaks    protocols   // which protocols may be spoken with it
	forward   bool        // route.Forward
	short     atomic.Bool // it may have waiters, and not one slot: see slots.go
	addresses             // see avoid.go

	// mu guards what follows, up to key. Under it: no I/O, no Close, no hook, no call into h1, h2,
	// dialer or health (but Vigil.Ended, which waits for nothing). It is taken after
	// Transport.mu where both are held.
	mu         sync.Mutex
	asks       bool       // the twin is being asked for a slot
	gone       bool       // forgotten: look it up again
	restListed bool       // it is in Transport.resting
	proto      protocol   // what the last dial found
	cfg        HostConfig // never changes
	idle       []*conn    // the newest last; while a request waits, none that it would take: see also fresh.go
	oneIdle    [1]*conn   // idle's array, while that is enough
	shared     []*conn    // in use, and taking more: see shared.go
	queue      queue
	epoch      uint64    // raised by CloseIdleConnections and Drain: what is older isn't reused
	usedAt     time.Time // the last checkout or checkin of a request, or Warm
	upkeep
	witness  *conn   // open and not used any more, nil if there is none: see witness.go
	restless []*conn // those that became idle a moment ago, at least: restIdle is to come. See rest.go.

	// See settle.go.
	settling     []*conn
	waryUntil    time.Time
	closesBehind int

	tray tray

	conns    map[*conn]struct{} // all, dialing ones included
	dialing  int
	cutting  int       // of these, the ones that are about to end: see orphan.go
	slow     int       // of the others, those that take long: see stuck.go
	lost     int       // hooks that go on though their dials have ended: see losthook.go
	through  time.Time // when the youngest dial began that has succeeded
	window   dialWindow
	keeper   keeper // see keep.go
	tot      Totals
	reaping  map[time.Duration]bool // the graces after which cutOrphans is to come
	cutShort int                    // see orphansCutShort

	known knowledge
	shown time.Duration // the last announced idle timeout, for Stats

	// Of HTTP/2.
	streamsEach   int       // what the last connection offered
	fruitless     int       // see storm.go
	dialNotBefore time.Time // zero: now
	dialsPaused   bool      // until dialNotBefore

	// See caution.go.
	deafUntil  time.Time // it answers no Expect: 100-continue
	unheard    int       // how often in a row it didn't
	hastyUntil time.Time // it closes connections of any age

	// What it is; never changes, but for aliases, which Transport.mu guards.
	key        hostKey
	route      dialer.Route
	shownProxy string // the proxy, as it may be shown
	aliases    []*alias

	// With no lock.
	waited atomic.Int64 // Totals.WaitTime
	waits  sharedHistogram
}

// openLocked counts the connections that are not being dialled any more.
func (h *host) openLocked() int { return len(h.conns) - h.dialing }

// idleLocked counts those that carry no request, with those that settle
// and the witness.
func (h *host) idleLocked() int {
	n := len(h.idle) + len(h.settling)
	if h.witness != nil {
		n++
	}
	return n
}

func (h *host) inUseLocked() int { return h.openLocked() - h.idleLocked() }

func (h *host) emptyLocked() bool {
	return len(h.conns) == 0 && h.queue.len() == 0 && len(h.keeper.warmers) == 0
}

// pickLocked returns a connection for one more request: one that carries others already,
// or the newest idle one that will do for the wish. It is nil if there is neither, and not yet
// held.
func (h *host) pickLocked(ws wish, now time.Time) (c *conn, wasIdle bool) {
	if ws.taste != nil {
		if c, wasIdle, decided := h.pickPreferredLocked(ws, now); decided {
			return c, wasIdle
		}
	}
	if !ws.http1 {
		if c := h.pickSharedLocked(ws.caution); c != nil {
			return c, false
		}
	}
	for i := h.firstPickLocked(ws, now); i >= 0; i-- {
		if c := h.idle[i]; ws.takes(c, now) {
			h.removeIdleAtLocked(i)
			return c, true
		}
	}
	return nil, false
}

// put takes back a connection on which another request may be sent: to the oldest
// waiter, else into the idle stack. It returns false if the connection was retired.
func (h *host) put(c *conn) bool {
	if c.h2 != nil {
		return h.release(c, false)
	}
	return h.giveBack(c, false)
}

// giveBack is put for a connection that may or may not have settled already.
func (h *host) giveBack(c *conn, settled bool) bool {
	c.rest()
	if !h.mu.TryLock() {
		if !settled && h.layDown(c) {
			return true
		}
		h.mu.Lock()
	}
	return h.giveBackLocked(c, settled)
}

// giveBackLocked is called under mu and unlocks it.
func (h *host) giveBackLocked(c *conn, settled bool) bool {
	now := time.Now()
	reason, ok := h.judgeReturnLocked(c, now)
	switch {
	case !ok:
		h.mu.Unlock()
		h.retire(c, reason)
	case !settled && h.waryLocked(c, now):
		h.settle(c)
	case h.t.set.disableKeepAlives && h.queue.len() == 0:
		ok = false // a vetoed request's, say
		h.mu.Unlock()
		h.retire(c, ReasonNotKept)
	default:
		h.offer(c, now)
	}
	return ok
}

// judgeReturnLocked says whether a connection that its request gives back may be kept.
func (h *host) judgeReturnLocked(c *conn, now time.Time) (CloseReason, bool) {
	reason, ok := judge(c.candidate(now))
	switch {
	case h.t.closed():
		return ReasonClosed, false
	case ok && h.t.closing():
		return ReasonIdleClosed, false
	}
	return reason, ok
}

// offer hands c to the oldest waiter (or to several, if it carries several), or makes it
// idle. If that exceeds MaxIdlePerHost the oldest idle connection is retired. It is called
// under mu and unlocks it.
func (h *host) offer(c *conn, now time.Time) {
	if c.uses > 0 {
		h.usedAt = now
	}
	if h.serveLocked(c) {
		h.mu.Unlock()
		return
	}
	c.state = connIdle
	h.pushIdleLocked(c)
	surplus := h.surplusLocked()
	h.sweepByLocked(c.expires())
	list := h.listLocked()
	var end error
	ended := false
	if c.vigil != nil { // what it found before now, it told nobody
		end, ended = c.vigil.Ended()
	}
	h.mu.Unlock()
	if ended {
		h.dropClosed(c, end)
	}
	if surplus != nil {
		h.retireAside(surplus, ReasonIdleCap)
	}
	if list {
		h.t.idlers.add(h)
	}
	h.t.keepIdleBound()
	h.yield()
}
