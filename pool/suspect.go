package pool

import "time"

// leastSilence is from which idle age on an exchange without an answer makes others suspect
// that idled with it. On a busy connection a missing answer says nothing of the way.
const leastSilence = 100 * time.Millisecond

// suspect is called when a connection that had been idle for age turned out to be dead, or,
// if silent is true, seems to be, as nothing came back from it. Those that have idled for as
// long or longer may have shared its fate. What the kernel can tell of them, a look tells.
// Nobody tells of a connection that something on the way has forgotten (a NAT): those are
// closed, unused.
func (h *host) suspect(age time.Duration, silent bool) {
	if silent && age < leastSilence {
		return
	}
	for _, c := range h.takeAsOld(age) {
		if silent {
			h.retire(c, ReasonSuspect)
		} else if reason, err := c.look(); err != nil {
			h.noteIdleClose(c, err)
			h.dropStale(c, reason)
		} else {
			h.giveBack(c, true) // it has been idle for long enough
		}
	}
}

// takeAsOld takes the idle connections that have been idle for age or longer, for the
// caller, who holds them then: HTTP/1.1 ones. The others are read all the time, so that nothing
// is left for a look; for what reading can't show see takeSharersLocked.
func (h *host) takeAsOld(least time.Duration) (taken []*conn) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := 0; i < len(h.idle) && age(now, h.idle[i].idleSince) >= least; {
		c := h.idle[i]
		if c.h2 != nil {
			i++
			continue
		}
		h.removeIdleAtLocked(i)
		taken = append(taken, c)
	}
	return taken
}

// takeSharersLocked takes the idle HTTP/2 connections that have been idle since then, or for
// longer, for the caller to retire. One that was idle since then is in doubt, and a request
// would have to find out about each of them. (So would a PING, but with some peers PINGs
// on idle connections count as an attack.)
func (h *host) takeSharersLocked(since time.Time) (taken []*conn) {
	for i := 0; i < len(h.idle) && !h.idle[i].idleSince.After(since); {
		c := h.idle[i]
		if c.h2 == nil {
			i++
			continue
		}
		h.removeIdleAtLocked(i)
		h.leaveLocked(c, ReasonSuspect)
		taken = append(taken, c)
	}
	return taken
}
