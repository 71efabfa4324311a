package pool

import (
	"sync/atomic"
	"time"
)

// slots count the connections that MaxConnsPerHost bounds: a host's, and those of its twin. An
// origin that speaks HTTP/2 has a second host for the requests that only HTTP/1 can
// carry (hostKey.http1), and both have one limit. Neither's lock is taken under the
// other's.
type slots struct {
	taken atomic.Int64
	hosts [2]atomic.Pointer[host] // the second is the one for HTTP/1; nil: there is none
}

func (k hostKey) slotsIndex() int8 {
	if k.http1 {
		return 1
	}
	return 0
}

func (k hostKey) twin() hostKey {
	k.http1 = !k.http1
	return k
}

// twin is nil if there is none, nearly always.
func (h *host) twin() *host { return h.slots.hosts[1-h.place].Load() }

// canDialLocked tells whether a slot is free.
func (h *host) canDialLocked() bool {
	limit := h.cfg.MaxConnsPerHost
	return limit == 0 || h.slots.taken.Load() < int64(limit)
}

// crowdedLocked tells whether as many as limit wait for what others have. Those don't count for
// whom a dial is under way, or will be as soon as the window lets it.
func (h *host) crowdedLocked(limit int) bool {
	most := h.cfg.MaxConnsPerHost
	if most == 0 {
		return false
	}
	free := max(int64(most)-h.slots.taken.Load(), 0) * int64(h.newConnCarriesLocked())
	return int64(h.queue.len()-h.coveredLocked()) >= int64(limit)+free
}

// takeSlot takes a slot, if one is free. It never counts one that it doesn't get: the twin could
// miss a slot by that, and nobody would tell it.
func (h *host) takeSlot() bool {
	for {
		n := h.slots.taken.Load()
		if limit := h.cfg.MaxConnsPerHost; limit > 0 && n >= int64(limit) {
			return false
		}
		if h.slots.taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// giveSlotLocked gives a slot back. Who calls it calls passSlot when h.mu is unlocked.
func (h *host) giveSlotLocked() { h.slots.taken.Add(-1) }

// passSlot lets the twin's waiters have the slots that h's own have left.
func (h *host) passSlot() {
	if twin := h.twin(); twin != nil {
		twin.dialMissing()
	}
}

// handOverSlot gives the twin the slot of a connection that made room, which h's own waiters would
// take otherwise.
func (h *host) handOverSlot() {
	if twin := h.twin(); twin != nil && twin.dialOn() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.giveSlotLocked()
	h.dialMissingLocked()
}

// dialOn starts a dial on a slot that is taken, if a waiter needs one now.
func (h *host) dialOn() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queue.len() <= h.expectedLocked() || !h.windowOpenLocked() || h.t.closed() || h.pausesLocked(time.Now()) {
		return false
	}
	h.dialOnSlotLocked()
	return true
}

// askTwinLocked makes the twin give up a connection, as h has waiters and no slot is free.
func (h *host) askTwinLocked() {
	twin := h.twin()
	if twin == nil || h.asks || h.queue.len() <= h.expectedLocked() {
		return
	}
	h.asks = true
	h.short.Store(true)
	go func() {
		twin.yield()
		h.mu.Lock()
		h.asks = false
		h.mu.Unlock()
	}()
}

// yield gives up a connection if the twin waits for a slot: the one that has been idle longest,
// but not the last, if the twin has one. If it has none, an HTTP/2 connection in use will do,
// which takes no new request then. It is called without h.mu, also when one was opened or has
// become idle.
func (h *host) yield() {
	twin := h.twin()
	if twin == nil {
		return
	}
	_, has, waits := twin.waitsForSlot()
	if !waits {
		return
	}
	h.mu.Lock()
	c := h.oldestIdleLocked()
	switch {
	case has > 0 && len(h.conns) < 2:
		c = nil
	case c != nil:
		h.takeIdleLocked(c)
		h.leaveLocked(c, ReasonMadeRoom)
	case has == 0:
		h.drainOneLocked()
	}
	h.mu.Unlock()
	if c != nil {
		h.retireAside(c, ReasonMadeRoom)
	}
}

// waitsForSlot tells whether h has waiters that need a slot, since when, and how many it has.
func (h *host) waitsForSlot() (since time.Time, has int, waits bool) {
	if !h.short.Load() {
		return time.Time{}, 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	waits = h.queue.len() > 0 && h.queue.len() > h.expectedLocked() && !h.canDialLocked()
	h.short.Store(waits)
	if waits {
		since = h.queue.head.since
	}
	return since, len(h.conns), waits
}

// twinWaitsLonger tells whether a slot that h gives back is the twin's, whose oldest waiter came
// before h's.
func (h *host) twinWaitsLonger() bool {
	twin := h.twin()
	if twin == nil {
		return false
	}
	since, _, waits := twin.waitsForSlot()
	if !waits {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.queue.head == nil || since.Before(h.queue.head.since)
}

// drainOneLocked lets an HTTP/2 connection go when its requests are done, unless one does already.
func (h *host) drainOneLocked() {
	var least *conn
	for c := range h.conns {
		switch {
		case c.leaving != "":
			return
		case c.state != connInUse || c.h2 == nil:
		case least == nil || c.streams < least.streams:
			least = c
		}
	}
	if least != nil {
		h.leaveLocked(least, ReasonMadeRoom)
	}
}
