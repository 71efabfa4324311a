package pool

import (
	"math/rand/v2"
	"sync"
	"time"
)

// sampled is among how many hosts the longest idle connection is looked for when there are
// more idle ones than Base.MaxIdleConns. With so many the one that goes is of the older half
// nearly always, and of the oldest quarter nine times of ten; and what it costs doesn't depend
// on how many hosts there are.
const sampled = 8

// idleHosts are the hosts that have idle connections, or had some when they were last looked
// at: hosts come by themselves, once, and are taken out when they are found to have none. So
// requests that only take and give back meet no lock here.
type idleHosts struct {
	mu    sync.Mutex // taken before any host.mu
	hosts []*host
}

func (l *idleHosts) add(h *host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.isGone() { // and remove has been called already
		return
	}
	h.listIndex = len(l.hosts)
	l.hosts = append(l.hosts, h)
}

func (h *host) isGone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gone
}

// remove takes out a host that is being forgotten.
func (l *idleHosts) remove(h *host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := h.listIndex; i < len(l.hosts) && l.hosts[i] == h {
		l.removeAtLocked(i)
	}
}

func (l *idleHosts) removeAtLocked(i int) {
	n := len(l.hosts) - 1
	last := l.hosts[n]
	l.hosts[i], last.listIndex = last, i
	l.hosts[n] = nil
	l.hosts = l.hosts[:n]
	if n < cap(l.hosts)/4 {
		l.hosts = append(make([]*host, 0, 2*n), l.hosts...)
	}
}

// oldest is the connection that has been idle longest, among those of the hosts that are
// looked at. It is nil if no host has one.
func (l *idleHosts) oldest() (oldest *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var since time.Time
	for seen := 0; seen < min(sampled, len(l.hosts)); {
		i := seen
		if len(l.hosts) > sampled {
			i = rand.IntN(len(l.hosts))
		}
		c, at := l.hosts[i].longestIdle()
		if c == nil {
			l.removeAtLocked(i)
			continue
		}
		if seen++; oldest == nil || at.Before(since) {
			oldest, since = c, at
		}
	}
	return oldest
}

// longestIdle is the connection that has been idle longest, and since when. If it is nil the
// caller takes h out of the list.
func (h *host) longestIdle() (*conn, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.oldestIdleLocked()
	if c == nil {
		h.listed = false
		return nil, time.Time{}
	}
	return c, c.idleSince
}

// listLocked reports whether the caller has to put h into the list, when it has unlocked mu.
func (h *host) listLocked() bool {
	if h.listed || h.t.set.maxIdle == 0 {
		return false
	}
	h.listed = true
	return true
}

// keepIdleBound retires connections that have been idle for long while there are more than
// Base.MaxIdleConns.
func (t *Transport) keepIdleBound() {
	for limit := t.set.maxIdle; limit > 0 && t.idle.Load() > int64(limit); {
		c := t.idlers.oldest()
		if c == nil {
			return
		}
		c.h.dropIdle(c, ReasonIdleCap)
	}
}
