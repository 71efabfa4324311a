package pool

import (
	"errors"
	"time"

	"example.com/connwise/health"
)

// admit has the last word on a connection that was taken from the idle stack, or
// delivered. If it may not be used it is retired, and the grant is empty. An error means
// that there is no point in taking another.
func (h *host) admit(g grant, ws *wish) (grant, error) {
	if g.c.h2 != nil {
		return h.admitShared(g)
	}
	if g.reused && !g.wasIdle {
		// It was judged when it was handed over. On a busy machine its receiver may have
		// woken long after.
		g.at = time.Now()
		g.idle = age(g.at, g.c.idleSince)
		if reason, ok := g.c.judgeHeld(g.at, ws.caution); !ok {
			h.retire(g.c, reason)
			return grant{}, nil
		}
	}
	if g.rested {
		g.c.watch.Use()
	}
	if ws.late && g.looksLate() {
		g.late = true
		return g, nil
	}
	reason, err := g.c.look()
	if err == nil {
		return g, nil
	}
	return h.foundDead(g, reason, err)
}

// foundDead is admit for a connection that a look found dead.
func (h *host) foundDead(g grant, reason CloseReason, err error) (grant, error) {
	if g.wasIdle {
		h.noteIdleClose(g.c, err)
	}
	h.dropStale(g.c, reason)
	if g.wasIdle || g.reused {
		h.suspect(g.idle, false)
		return grant{}, nil
	}
	// Straight from its dial: another dial may meet the same, so retry decides.
	h.noteUseless(g.c)
	return grant{}, g.c.describe(&Error{Phase: PhaseUnsent, Host: h.key.addr, Err: err})
}

// judgeHeld judges an HTTP/1.1 connection that the caller holds. A Drain that came meanwhile
// doesn't matter to a request that has one.
func (c *conn) judgeHeld(now time.Time, ca *caution) (CloseReason, bool) {
	if reason, ok := judge(c.held(now)); !ok {
		return reason, false
	}
	if !ca.takes(c, now) {
		return ReasonUnconfirmed, false
	}
	return "", true
}

// look asks the kernel, as the last thing before the first byte, whether the peer has
// closed or sent something nobody asked for. A nil error means that it has not.
func (c *conn) look() (CloseReason, error) {
	return c.judgeLook(c.probe.Look())
}

func (c *conn) judgeLook(v health.Verdict, err error) (CloseReason, error) {
	if v == health.Dead {
		return reasonOfLook(err), err
	}
	if c.peerClosed.Load() { // where a look can't tell
		return ReasonPeerClosed, errPeerClosed
	}
	return "", nil
}

// reasonOfLook is the close reason for what a look found.
func reasonOfLook(err error) CloseReason {
	if errors.Is(err, health.ErrSurplus) {
		return ReasonUnsolicited
	}
	return ReasonPeerClosed
}

// dropStale gives back a connection that the look found dead.
func (h *host) dropStale(c *conn, reason CloseReason) {
	h.mu.Lock()
	h.tot.Stale++
	c.trace.noteStaleLocked()
	h.mu.Unlock()
	h.drop(c, reason)
}

// lookAgain looks at a connection that was granted a while ago, and judges its idle time.
// (Age, or a Drain that came meanwhile, doesn't matter to a request that has it.) If it
// may not be used any more it is retired, and the error says why.
func (h *host) lookAgain(g *grant) error {
	if g.c.h2 != nil {
		return h.lookAgainShared(g)
	}
	if g.reused || g.wasIdle {
		g.idle = age(time.Now(), g.c.idleSince)
		if reason, ok := judge(candidate{idle: g.idle, limit: g.c.idleLimit()}); !ok {
			h.dropStale(g.c, reason)
			return errStale
		}
	}
	if reason, err := g.c.look(); err != nil {
		h.dropStale(g.c, reason)
		return err
	}
	return nil
}
