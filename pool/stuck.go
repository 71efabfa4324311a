package pool

import "time"

// A dial may hang while others come through: a balancer leads some of them to a backend that
// is dead, a packet was lost. It must count neither for the requests that wait, or a host whose
// every tenth dial hangs would come to a standstill when there are as many of those as
// requests; nor, for long, in the limit and the window.

const (
	// slowDial is when a dial isn't relied on any more: a lost SYN is sent again after a
	// second.
	slowDial = time.Second
	// stuckTimes is how many times as long as others a slow dial has to take to be given up, if
	// one that began after it has succeeded.
	stuckTimes = 4
)

// noteSlowLocked sees to it that c's dial gets company if it takes long, or is given up.
func (h *host) noteSlowLocked(c *conn) {
	c.slowBy = time.AfterFunc(slowDial, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if c.state != connDialing || c.cut {
			return
		}
		c.slow = true
		h.slow++
		h.cutStuckLocked(c, time.Now())
		h.dialMissingLocked()
	})
}

// noteThroughLocked is called when c's dial has succeeded: those that began before it, and
// still hang, get no further.
func (h *host) noteThroughLocked(c *conn, now time.Time) {
	if c.dialAt.After(h.through) {
		h.through = c.dialAt
	}
	if h.slow == 0 {
		return
	}
	for d := range h.conns {
		if d.state == connDialing && d.slow && !d.cut {
			h.cutStuckLocked(d, now)
		}
	}
}

// cutStuckLocked ends c's dial, which is slow, if it is stuck. When it has ended, those who
// wait get another one.
func (h *host) cutStuckLocked(c *conn, now time.Time) {
	if c.dialAt.Before(h.through) && age(now, c.dialAt) >= stuckTimes*h.keeper.took {
		h.cutLocked(c)
	}
}

// reliedOnLocked counts the dials that waiters rely on. Of those that are slow one isn't: it
// gets company, and only one does, as all may hang.
func (h *host) reliedOnLocked() int { return h.wantedDialsLocked() - min(h.slow, 1) }
