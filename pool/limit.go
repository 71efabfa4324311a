package pool

import "time"

const (
	earlyClose = 25 * time.Millisecond // peers closed up to 17 ms before their time
	mostMargin = 5 * time.Second       // of what follows from the timeout alone
)

// A path is what is known of the way to the peer: how long a request needs to get there has
// to be in the margin, as the peer's timer runs until then.
type path struct {
	connect  time.Duration // the shortest round trip of TCP: a round trip, if nothing on the way answers for the peer
	exchange time.Duration // the shortest exchange or TLS handshake: a round trip and the peer's own time
}

// idleMargin is how long before the idle timeout t reuse ends: a tenth of t within bounds,
// more if the way or the peer's jitter takes more. What the peer took for itself may
// be most of an exchange, so that counts up to 14 % only. It never takes more than
// half of t, so that small values still allow reuse.
func idleMargin(t time.Duration, p path, jitter time.Duration) time.Duration {
	m := min(max(t/10, earlyClose), mostMargin)
	m = max(m, min(earlyClose+p.exchange+jitter, t*7/50), earlyClose+p.connect)
	return min(m, t/2)
}

// A limitSource says where an idle limit came from.
type limitSource uint8

const (
	limitNone limitSource = iota
	limitConfigured
	limitAnnounced
	limitLearnt
	limitTransport
)

func (s limitSource) String() string {
	return [...]string{"none", "configured", "announced", "learnt", "transport"}[s]
}

// timeouts are the idle timeouts that are known for a connection, zero for unknown.
type timeouts struct {
	configured time.Duration // for the proxy
	announced  time.Duration // by the server
	learnt     time.Duration
	jitter     time.Duration // of what was learnt
	transport  time.Duration // Base.IdleConnTimeout, which is a limit already
	margin     time.Duration // IdleMargin, zero for idleMargin's
	path
}

// limit is the smallest of the limits that follow: each timeout is cut by its margin. Zero
// means that there is no limit.
func (t *timeouts) limit() (l inForce) {
	take := func(d time.Duration, s limitSource) {
		if d > 0 && (l.limit == 0 || d < l.limit) {
			l = inForce{d, s}
		}
	}
	take(t.configured-t.marginOf(t.configured, 0), limitConfigured)
	take(t.announced-t.marginOf(t.announced, 0), limitAnnounced)
	take(t.learnt-t.marginOf(t.learnt, t.jitter), limitLearnt)
	take(t.transport, limitTransport)
	return l
}

// marginOf is the margin for the timeout d. The one that was configured leaves something of
// the configured timeout, as New has checked, and is cut for smaller ones.
func (t *timeouts) marginOf(d, jitter time.Duration) time.Duration {
	switch {
	case t.margin == 0:
		return idleMargin(d, t.path, jitter)
	case d >= t.configured && t.configured > 0:
		return t.margin
	}
	return min(t.margin, d/2)
}

// agedByTLS is how long a connection has been idle when it is opened: since TLS began, as the peer's
// timer for connections that carry nothing may (nginx's begins with the connection). Slow
// handshakes would else seem to show that such connections are closed soon. Half of the limit is
// left at least, or no connection would be of use where handshakes take longer.
func (h *host) agedByTLS(took time.Duration) time.Duration {
	if limit := h.limits.Load().unused.limit; limit > 0 {
		return min(took, limit/2)
	}
	return took
}

// age is how long ago t was, by the monotonic clock or by the wall clock, whichever
// says more: the monotonic one stands still while a laptop sleeps or a container is
// frozen, and the wall clock may be set backwards.
func age(now, t time.Time) time.Duration {
	// The second term is now.Round(0).Sub(t.Round(0)), for less. It is no good for the zero time,
	// for which the first says enough.
	return max(now.Sub(t), time.Duration(now.UnixNano()-t.UnixNano()))
}

// A candidate is what there is to know of an idle connection, in plain values.
type candidate struct {
	idle, limit time.Duration // limit zero: none
	age, maxAge time.Duration // maxAge zero: none, and age isn't known then
	uses        int
	maxUses     int // zero: no limit
	peerClosed  bool
	outdated    bool // CloseIdleConnections or Drain came after it was opened
}

// judge says whether the candidate may be used, and if not, why.
func judge(c candidate) (CloseReason, bool) {
	switch {
	case c.peerClosed:
		return ReasonPeerClosed, false
	case c.outdated:
		return ReasonIdleClosed, false
	case c.limit > 0 && c.idle >= c.limit:
		return ReasonIdleLimit, false
	case c.maxAge > 0 && c.age >= c.maxAge:
		return ReasonMaxAge, false
	case c.maxUses > 0 && c.uses >= c.maxUses:
		return ReasonMaxRequests, false
	}
	return "", true
}
