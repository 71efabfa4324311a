package pool

import "time"

// idleMargin is how long before the idle timeout t reuse ends: margin if given, else a
// tenth of t, at least 25 ms (ten proxies closed up to 17 ms early) and at most 5 s.
// It never takes more than half of t, so that small values still allow reuse.
func idleMargin(t, margin time.Duration) time.Duration {
	if margin == 0 {
		margin = min(max(t/10, 25*time.Millisecond), 5*time.Second)
	}
	return min(margin, t/2)
}

// A limitSource says where an idle limit came from.
type limitSource uint8

const (
	limitNone limitSource = iota
	limitConfigured
	limitAnnounced
	limitTransport
)

func (s limitSource) String() string {
	return [...]string{"none", "configured", "announced", "transport"}[s]
}

// idleLimit is the smallest of the limits that are known (zero: unknown): what was
// configured for the proxy, what the server announced, and Base.IdleConnTimeout. Each
// of the first two is cut by its margin. Zero means that there is no limit.
func idleLimit(hc HostConfig, announced, transport time.Duration) (limit time.Duration, from limitSource) {
	take := func(d time.Duration, s limitSource) {
		if d > 0 && (limit == 0 || d < limit) {
			limit, from = d, s
		}
	}
	if t := hc.ProxyIdleTimeout; t > 0 {
		m := hc.IdleMargin
		if m == 0 {
			m = idleMargin(t, 0)
		}
		take(t-m, limitConfigured)
	}
	if announced > 0 {
		take(announced-idleMargin(announced, hc.IdleMargin), limitAnnounced)
	}
	take(transport, limitTransport)
	return limit, from
}

// age is how long ago t was, by the monotonic clock or by the wall clock, whichever
// says more: the monotonic one stands still while a laptop sleeps or a container is
// frozen, and the wall clock may be set backwards.
func age(now, t time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// A candidate is what there is to know of an idle connection, in plain values.
type candidate struct {
	idle, limit time.Duration // limit zero: none
	age, maxAge time.Duration // maxAge zero: none
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
	}
	return "", true
}
