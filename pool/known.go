package pool

import (
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
)

// A knowledge is what the connections to a host have shown about how long its peer lets them
// idle, a Transport's as well as a Guard's. Its owner guards it. What follows from it, an
// idleLimits, never changes.
type knowledge struct {
	used   learner // of connections that had carried a request
	unused learner // of those that hadn't: a peer has another timer for them
	path   path
}

// closed notes that the peer has closed a connection that had been idle for so long.
func (k *knowledge) closed(used bool, idle time.Duration, now time.Time) {
	if used {
		k.used.closed(idle, now)
	} else {
		k.unused.closed(idle, now)
	}
}

// idleLimits is what is known of a host's idle timeouts now, and what follows from that.
type idleLimits struct {
	used, unused inForce       // unused: of connections that never carried a request
	doubt        time.Duration // see learner

	known timeouts // what they follow from, for a used connection
	// learntUnused is what was learnt of unused ones.
	learntUnused time.Duration
}

// An inForce is the limit in force, and where it came from.
type inForce struct {
	limit time.Duration // zero: none
	from  limitSource
}

// limits works out what follows, and forgets what has grown old. t has what was configured.
// Nobody knows that a peer is more patient with connections that were never used: the less of
// what was learnt goes for them.
func (k *knowledge) limits(t timeouts, now time.Time) *idleLimits {
	t.path = k.path
	t.learnt, t.jitter, _ = k.used.value(now)
	unused := t
	learnt, jitter, ok := k.unused.value(now)
	if ok && (t.learnt == 0 || learnt < t.learnt) {
		unused.learnt, unused.jitter = learnt, jitter
	}
	return &idleLimits{used: t.limit(), unused: unused.limit(), known: t, doubt: k.used.doubt, learntUnused: learnt}
}

// of is the limit for a connection on which nothing was announced.
func (l *idleLimits) of(used bool) inForce {
	if used {
		return l.used
	}
	return l.unused
}

// refreshLocked takes over what has become known.
func (h *host) refreshLocked(now time.Time) {
	h.limits.Store(h.known.limits(timeouts{
		configured: h.cfg.ProxyIdleTimeout,
		transport:  h.t.set.idleConnTimeout,
		margin:     h.cfg.IdleMargin,
	}, now))
}

// idleLimit is the limit in force for a connection that has been used, or not, on which the
// server announced a timeout, or didn't.
func (h *host) idleLimit(announced time.Duration, used bool) inForce {
	l := h.limits.Load()
	if announced == 0 || !used {
		return l.of(used)
	}
	known := l.known
	known.announced = announced
	return known.limit()
}

// forgetOld forgets what was learnt long ago.
func (h *host) forgetOld(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetOldLocked(now)
}

func (h *host) forgetOldLocked(now time.Time) {
	if h.known.used.events != nil || h.known.unused.events != nil {
		h.refreshLocked(now)
	}
}

// noteIdleCloseLocked notes that c, which was idle, has ended: how, and, if it was the peer
// who ended it, at what age.
func (h *host) noteIdleCloseLocked(c *conn, how idleClose, now time.Time) {
	h.tot.countIdleClose(how)
	c.trace.noteHowLocked(how)
	if how == idleUnknown {
		return
	}
	idle := now.Sub(c.idleSince)
	if c.uses == 0 {
		idle = now.Sub(c.opened) + c.link.TLSTook // all of it: see agedByTLS
	}
	h.known.closed(c.uses > 0, idle, now)
	h.noteHasteLocked(idle, now)
	h.refreshLocked(now)
}

// crossed is within how much more than a round trip the end of a connection has to come to
// have been under way when the request was sent.
const crossed = 50 * time.Millisecond

// noteCrossed notes that the connection of g, which was reused, ended without an answer to the
// request that was sent on it. If that was at once, the peer's close has crossed the
// request. Whether it has processed that nobody knows; but it has closed an idle connection.
func (h *host) noteCrossed(g grant) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if took := now.Sub(g.at); !g.reused || took > h.known.path.connect+h.known.path.exchange+crossed {
		return
	}
	h.noteHasteLocked(g.idle, now)
	if g.idle >= leastIdle {
		h.known.used.closed(g.idle, now)
		h.refreshLocked(now)
	}
}

// An idleClose says how a peer closed an idle connection, as Stats shows it.
type idleClose string

const idleGoAway idleClose = "goaway"

// idleUnknown is no close of the peer's: this host's kernel has had no answer to its keep-alive
// probes, say, and has a timer of its own for that.
var idleUnknown = idleClose(health.CauseUnknown.String())

// idleCloseOf names what a look found. For what HTTP/2's read loop finds see sharedCloseOf.
func idleCloseOf(err error) idleClose {
	return idleClose(health.CauseOf(err).String())
}

// noteIdleClose is noteIdleCloseLocked for what a look found.
func (h *host) noteIdleClose(c *conn, err error) {
	how := idleCloseOf(err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteIdleCloseLocked(c, how, time.Now())
}

// noteSurvival notes that a connection was found alive after it had been idle for age.
func (h *host) noteSurvival(age time.Duration) {
	if d := h.limits.Load().doubt; d == 0 || age <= d {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteSurvivalLocked(age, time.Now())
}

func (h *host) noteSurvivalLocked(age time.Duration, now time.Time) {
	if h.known.used.survived(age, now) {
		h.refreshLocked(now)
	}
}

// connectTime is the round trip to the peer, as the dial showed it. The kernel's measure
// doesn't count how long this process took to notice.
func connectTime(l *dialer.Link) time.Duration {
	if rtt, ok := health.RTT(l.Conn); ok {
		return rtt
	}
	return l.ConnectTook
}

// noteDialedLocked notes what a dial says about the way.
func (h *host) noteDialedLocked(l *dialer.Link, connect time.Duration, now time.Time) {
	p := h.known.path
	shorten(&p.connect, connect)
	shorten(&p.exchange, l.TLSTook)
	if p != h.known.path {
		h.known.path = p
		h.refreshLocked(now)
	}
}

// noteExchange notes how long the first exchange on a connection took.
func (h *host) noteExchange(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); shorten(&h.known.path.exchange, took) {
		h.refreshLocked(now)
	}
}

// shorten sets d to a shorter time that was measured.
func shorten(d *time.Duration, took time.Duration) bool {
	if took <= 0 || *d > 0 && *d <= took {
		return false
	}
	*d = took
	return true
}
