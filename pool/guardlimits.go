package pool

import (
	"time"

	"example.com/connwise/health"
)

// refreshLocked takes over what has become known, and forgets what has grown old.
func (h *guardHost) refreshLocked(now time.Time) *idleLimits {
	l := h.known.limits(timeouts{configured: h.cfg.ProxyIdleTimeout, margin: h.cfg.IdleMargin}, now)
	h.limits.Store(l)
	return l
}

// limitFor is the limit in force for a connection that was found alive after it had been idle
// for so long; zero: none. A machine that was asleep has seen nothing, so what counts is the
// time by the monotonic clock. The host's lock is taken only where that may change something.
func (h *guardHost) limitFor(s *sense, idle time.Duration, now time.Time) time.Duration {
	if !s.ages() {
		return 0
	}
	l := h.limits.Load()
	limit, seen := l.of(s.started).limit, now.Sub(s.last)
	if doubted := s.started && l.doubt > 0 && seen > l.doubt; doubted || limit > 0 && idle >= limit {
		h.mu.Lock()
		if s.started {
			h.known.used.survived(seen, now)
		}
		limit = h.refreshLocked(now).of(s.started).limit // what was learnt may have grown old, too
		h.mu.Unlock()
	}
	return limit
}

// noteIdleClose notes that a connection has ended that had been idle for so long, by the
// monotonic clock: how, and what that teaches if it was the peer.
func (h *guardHost) noteIdleClose(how health.Cause, used bool, idle time.Duration, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tot.countIdleClose(idleClose(how.String()))
	if how == health.CauseUnknown {
		return // it was this host's kernel, say, which has a timer of its own
	}
	h.known.closed(used, idle, now)
	h.refreshLocked(now)
}

// noteExchange notes how long the first exchange on a connection took, or its handshake, and
// what is spoken on it, if that is known.
func (h *guardHost) noteExchange(took time.Duration, proto protocol) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if proto != 0 {
		h.proto = proto
	}
	if shorten(&h.known.path.exchange, took) {
		h.refreshLocked(time.Now())
	}
}
