package pool

import (
	"sync/atomic"
	"time"
)

// A tray is where connections change hands while somebody has host.mu. Whoever gives one back
// then lays it down, and goes on, and a request that comes meanwhile takes it up, without the
// lock. So nobody waits for the lock with a connection in his hands, and what a
// host can carry doesn't collapse when the one who has the lock loses his processor: behind a
// sync.Mutex all would park, and be woken one by one.
//
// In the host's books a connection on the tray is in use. It isn't left there: one of those
// who lay something down clears the tray as soon as he gets the lock. What is to be decided
// under the lock about a connection that comes back is decided then, or was decided never to
// be necessary (trayable, pickUp).
type tray struct {
	// What has to be known without host.mu.
	wary  atomic.Bool   // connections may have to settle first: see settle.go
	epoch atomic.Uint64 // host.epoch

	clearing atomic.Bool // somebody is about to clear it
	slots    [8]atomic.Pointer[conn]
}

// trayable tells whether it is enough for c that its next user judges it.
func (h *host) trayable(c *conn) bool {
	return c.h2 == nil && c.vigil == nil && h.cfg.MaxRequestsPerConn == 0 &&
		!h.tray.wary.Load() && !h.t.set.disableKeepAlives && !h.t.closing()
}

// layDown is giveBack where somebody has h.mu. It reports whether it has done it.
func (h *host) layDown(c *conn) bool {
	if !h.trayable(c) {
		return false
	}
	for i := range h.tray.slots {
		if h.tray.slots[i].CompareAndSwap(nil, c) {
			h.clearTray()
			return true
		}
	}
	return false
}

// clearTray gives back what lies on the tray, unless somebody else is about to: he takes what
// was laid down before he says that he has begun.
func (h *host) clearTray() {
	if !h.tray.clearing.CompareAndSwap(false, true) {
		return
	}
	h.mu.Lock()
	h.tray.clearing.Store(false)
	h.giveBackTrayLocked()
}

// giveBackTrayLocked gives back what lies on the tray. It is called under mu and unlocks it.
func (h *host) giveBackTrayLocked() {
	for i := range h.tray.slots {
		if c := h.tray.slots[i].Swap(nil); c != nil {
			h.giveBackLocked(c, false)
			h.mu.Lock()
		}
	}
	h.mu.Unlock()
}

// laden tells whether something lies on the tray.
func (t *tray) laden() bool {
	for i := range t.slots {
		if t.slots[i].Load() != nil {
			return true
		}
	}
	return false
}

// pickUp is take where somebody has h.mu. Requests that ask something of their connection
// don't find it here, and none does while others wait for one: it comes after them.
func (h *host) pickUp(ws wish, now time.Time) (grant, bool) {
	if ws.caution != nil || ws.taste != nil || h.queue.any.Load() || h.t.closing() {
		return grant{}, false
	}
	for i := range h.tray.slots {
		c := h.tray.slots[i].Load()
		if c == nil || !h.tray.slots[i].CompareAndSwap(c, nil) {
			continue
		}
		cand := c.held(now)
		cand.outdated = c.epoch != h.tray.epoch.Load()
		if reason, ok := judge(cand); !ok {
			h.drop(c, reason)
			continue
		}
		return grant{c: c, reused: c.uses > 0, wasIdle: true, at: now, idle: cand.idle}, true
	}
	return grant{}, false
}
