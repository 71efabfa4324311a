package pool

import "time"

// A peer may not take it well that connections are opened which nobody uses: it may refuse
// dials, close such connections at once, or after so short a time that keeping them up is
// nothing but dialling. So the keeper's dials pause after failures and early ends, longer each
// time, and go on with one (after failures that's the dial window's doing); and it has a pace
// that it never exceeds.

const (
	// earlyEnd is how old a connection has to become, unused, to show that the peer takes it.
	// From there on a peer's timer can be learnt.
	earlyEnd = leastIdle
	// manyEarly ends of unused connections in a row, each of the newest, are no restart.
	manyEarly = 3

	leastKeepPause = 100 * time.Millisecond
	mostKeepPause  = 30 * time.Second

	// In a second there are no more dials for MinIdlePerHost than paceTimes as many, beside a
	// reserve of as many; at least as if it were leastPace.
	paceTimes = 2
	leastPace = 10
)

// A pace is a keeper's.
type pace struct {
	next      time.Time // when the next dial would be due, were they spread evenly
	failed    int       // dials that failed in a row
	early     int       // moments in a row at which unused connections ended early
	since     time.Time // when that was last noted: what was dialled before says nothing new
	notBefore time.Time
}

// keepPause is how long the keeper's dials pause after n failures, with a jitter in [0, 1).
func keepPause(n int, jitter float64) time.Duration {
	if n < 1 {
		return 0
	}
	d := min(leastKeepPause<<min(n-1, 10), mostKeepPause)
	return d/2 + time.Duration(jitter*float64(d)/2)
}

// noteFailed notes that a dial that began at dialAt has failed.
func (p *pace) noteFailed(dialAt, now time.Time, jitter float64) {
	if dialAt.Before(p.since) {
		return
	}
	p.failed++
	p.pause(p.failed, now, jitter)
}

// noteWorks notes that a dial has succeeded, whoever asked for it: those that failed before say
// nothing any more.
func (p *pace) noteWorks() {
	if p.failed > 0 && p.early < 2 {
		p.notBefore = time.Time{}
	}
	p.failed = 0
}

// noteEarly notes the early end of a connection that was dialled at dialAt. The first may be a
// restart's.
func (p *pace) noteEarly(dialAt, now time.Time, jitter float64) {
	if dialAt.Before(p.since) {
		return
	}
	p.early++
	p.pause(p.early-1, now, jitter)
}

func (p *pace) pause(n int, now time.Time, jitter float64) {
	p.since = now
	p.notBefore = now.Add(keepPause(n, jitter))
}

// fits tells whether one more dial fits the pace for so many connections, and counts it. If it
// doesn't, it will at the time that is returned.
func (p *pace) fits(least int, now time.Time) (ok bool, at time.Time) {
	n := time.Duration(paceTimes * max(least, leastPace))
	next := p.next
	if next.Before(now) {
		next = now
	}
	if ahead := next.Sub(now); ahead >= time.Second {
		return false, next.Add(time.Second/n - time.Second)
	}
	p.next = next.Add(time.Second / n)
	return true, time.Time{}
}

// bearsLocked tells whether the peer can be expected to take a connection that nobody has
// asked for, and the pool to keep it.
func (h *host) bearsLocked(t *tally, now time.Time) bool {
	k := &h.keeper
	switch {
	case now.Before(k.pace.notBefore):
		t.by(k.pace.notBefore)
		return false
	case k.pace.early > 1 && k.ahead+t.unproven > 0:
		t.by(now.Add(earlyEnd))
		return false
	}
	if limit := h.t.set.maxIdle; limit > 0 && h.t.idle.Load()+int64(k.ahead) >= int64(limit) {
		t.by(now.Add(idleBoundPause)) // else it and another host's would drive each other out
		return false
	}
	return true
}

// fitsPaceLocked is bearsLocked for MinIdlePerHost's dials. It counts one.
func (h *host) fitsPaceLocked(t *tally, now time.Time) bool {
	if !h.bearsLocked(t, now) {
		return false
	}
	ok, at := h.keeper.pace.fits(h.cfg.MinIdlePerHost, now)
	if !ok {
		t.by(at)
	}
	return ok
}

// tallyUnusedLocked notes what an open connection says that wasn't used yet.
func (h *host) tallyUnusedLocked(t *tally, c *conn, now time.Time) {
	if c.state != connIdle || c.uses > 0 {
		return
	}
	if age(now, c.opened) >= earlyEnd {
		h.keeper.pace.early = 0
	} else {
		t.unproven++
	}
}

// noteEarlyLocked notes how a connection has ended that had carried no request. One that has
// reached its idle limit wasn't early, however short that is.
func (h *host) noteEarlyLocked(c *conn, reason CloseReason, now time.Time) {
	p := &h.keeper.pace
	switch {
	case c.uses > 0:
	case reason == ReasonIdleLimit:
		p.early = 0
	case reason == ReasonPeerClosed, reason == ReasonPeerAborted, reason == ReasonUnsolicited, reason == ReasonGoAway, reason == ReasonError:
		if age(now, c.opened) >= earlyEnd {
			return
		}
		p.noteEarly(c.dialAt, now, h.t.set.Jitter())
		if p.early >= manyEarly {
			h.endWarmersLocked(&Error{Phase: PhaseDial, Host: h.key.addr, Err: errPeerClosed})
		}
	}
}
