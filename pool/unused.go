package pool

import (
	"slices"
	"time"
)

const (
	// forgetAfter is how long a host without connections is remembered, for its
	// counters in Stats and for what was learnt of it.
	forgetAfter = 5 * time.Minute
	// manyHosts is how many hosts are remembered so. Of more, those that have been without
	// connections for longest are forgotten (a crawler's million hosts must not stay).
	manyHosts = 1024
	// secondChances bounds how many unused hosts are looked at before one is forgotten.
	secondChances = 16
)

// An unusedHost was without connections at that time.
type unusedHost struct {
	h     *host
	since time.Time
}

// unlock unlocks mu for those who may have taken out of h the last that was there: a connection,
// a waiter or a warmer. A host that nothing else comes back to would never be forgotten.
func (h *host) unlock() {
	empty := h.emptyLocked()
	h.mu.Unlock()
	if empty {
		h.noteUnused()
	}
}

// noteUnused is called, without a lock, when h was left without connections and waiters.
func (h *host) noteUnused() {
	now := time.Now()
	h.mu.Lock()
	h.sweepByLocked(now.Add(forgetAfter))
	store := !h.stored && !h.gone && h.emptyLocked()
	h.stored = h.stored || store
	h.mu.Unlock()
	if store {
		h.t.store(h, now)
	}
}

// store remembers h among the unused hosts, and forgets some that have been unused for
// longer if there are many.
func (t *Transport) store(h *host, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unused = append(t.unused, unusedHost{h, now})
	for n := 0; len(t.unused) > manyHosts && n < secondChances; n++ {
		u := t.unused[0]
		t.unused[0] = unusedHost{} // nothing of it is to stay in memory
		t.unused = t.unused[1:]
		if t.forgetUnlessUsed(u, now) {
			t.unused = append(t.unused, unusedHost{u.h, now})
		}
	}
}

// forgetUnlessUsed forgets an unused host, which is out of t.unused, but for one that was used
// since it came there: true says that it belongs there again. t.mu is held.
func (t *Transport) forgetUnlessUsed(u unusedHost, now time.Time) (used bool) {
	h := u.h
	h.mu.Lock()
	h.stored = h.emptyLocked() && !h.gone && h.usedAt.After(u.since)
	used = h.stored
	h.mu.Unlock()
	if !used {
		t.forgetLocked(h, now, 0)
	}
	return used
}

// forget drops a host that has had no connection and no waiter for as long as keep. Its
// counters stay in the total. It returns when to try again, zero if that isn't for now.
func (t *Transport) forget(h *host, now time.Time, keep time.Duration) (again time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forgetLocked(h, now, keep)
}

func (t *Transport) forgetLocked(h *host, now time.Time, keep time.Duration) time.Time {
	h.mu.Lock()
	if h.gone || !h.emptyLocked() {
		h.mu.Unlock()
		return time.Time{}
	}
	if keep > 0 {
		keep = max(keep, h.known.used.believedFor())
		if now.Sub(h.usedAt) < keep {
			defer h.mu.Unlock()
			return h.usedAt.Add(keep)
		}
	}
	h.gone = true
	h.stopSweepLocked()
	h.stopKeeperLocked()
	tot := h.totalsLocked()
	stored, listed := h.stored, h.listed
	h.mu.Unlock()
	t.forgotten.Add(&tot)
	t.removeHostLocked(h)
	if stored {
		t.unused = slices.DeleteFunc(t.unused, func(u unusedHost) bool { return u.h == h })
	}
	if listed {
		t.idlers.remove(h)
	}
	return time.Time{}
}
