package pool

import (
	"errors"
	"io"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
)

// A knowledge is what a host's connections have shown about how long its peer lets them idle.
// All of it is guarded by host.mu; what follows from it, host.times, can be read without.
type knowledge struct {
	used   learner // of connections that had carried a request
	unused learner // of those that hadn't: a peer has another timer for them
	path   path
	shown  time.Duration // the last announced idle timeout, for Stats

	// witness is a connection that isn't used any more, and is left open to see when the
	// peer closes it; nil if there is none. See witness.go.
	witness *conn
}

// hostTimeouts is what is known of a host's idle timeouts now.
type hostTimeouts struct {
	timeouts // announced, and what was learnt, are filled in per connection

	learnt, jitter time.Duration // of used connections
	disproof       time.Duration // see learner
	learntUnused   time.Duration
}

// refreshLocked takes over what has become known.
func (h *host) refreshLocked(now time.Time) {
	t := &hostTimeouts{timeouts: timeouts{
		configured: h.cfg.ProxyIdleTimeout,
		transport:  h.t.set.idleConnTimeout,
		margin:     h.cfg.IdleMargin,
		path:       h.known.path,
	}}
	t.learnt, t.jitter, _ = h.known.used.value(now)
	t.disproof = h.known.used.disproof
	t.learntUnused, _, _ = h.known.unused.value(now)
	h.times.Store(t)
}

// forgetOld forgets what was learnt long ago.
func (h *host) forgetOld(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known.used.events != nil || h.known.unused.events != nil {
		h.refreshLocked(now)
	}
}

// idleLimit is the limit in force for a connection; zero: none.
func (h *host) idleLimit(announced time.Duration, used bool) (time.Duration, limitSource) {
	known := h.times.Load()
	t := known.timeouts
	t.announced = announced
	if used {
		t.learnt, t.jitter = known.learnt, known.jitter
	} else {
		t.learnt = known.learntUnused
	}
	return t.limit()
}

// noteIdleCloseLocked notes that the peer has closed c, which was idle until now: at what
// age, and how.
func (h *host) noteIdleCloseLocked(c *conn, how idleClose, now time.Time) {
	if h.tot.IdleCloses == nil {
		h.tot.IdleCloses = make(map[string]uint64)
	}
	h.tot.IdleCloses[string(how)]++
	l := &h.known.used
	if c.uses == 0 {
		l = &h.known.unused
	}
	l.closed(age(now, c.idleSince), now)
	h.refreshLocked(now)
}

// An idleClose says how a peer closed an idle connection, as Stats shows it.
type idleClose string

const idleGoAway idleClose = "goaway"

// idleCloseOf names what a look found, or the read loop of an HTTP/2 connection.
func (c *conn) idleCloseOf(err error) idleClose {
	if c.h2 != nil && errors.Is(err, io.EOF) {
		return idleClose(health.CauseOfRead(c.nc, io.EOF).String())
	}
	return idleClose(health.CauseOf(err).String())
}

// noteIdleClose is noteIdleCloseLocked for what a look found.
func (h *host) noteIdleClose(c *conn, err error) {
	how := c.idleCloseOf(err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteIdleCloseLocked(c, how, time.Now())
}

// noteSurvival notes that a connection was found alive after it had been idle for age.
func (h *host) noteSurvival(age time.Duration) {
	if d := h.times.Load().disproof; d == 0 || age <= d {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteSurvivalLocked(age, time.Now())
}

func (h *host) noteSurvivalLocked(age time.Duration, now time.Time) {
	if h.known.used.survived(age) {
		h.refreshLocked(now)
	}
}

// noteDialedLocked notes what the dial of c says about the way.
func (h *host) noteDialedLocked(l *dialer.Link, now time.Time) {
	p := h.known.path
	shorten(&p.connect, l.ConnectTook)
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
