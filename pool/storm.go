package pool

import "time"

// A peer that accepts connections and gives them up before it has answered on one, by
// GOAWAY or by closing them, isn't helped by more of them. The first such end costs
// nothing, as it may be a restart; from the second on dials to the host pause, twice as long
// each time, until a request is answered.
const (
	firstDialPause = 5 * time.Millisecond
	maxDialPause   = time.Second
	fruitlessSpan  = 5 * time.Second // what lived longer than that was no storm
)

// noteFruitLocked notes how a connection has ended. now is the time of that.
func (h *host) noteFruitLocked(c *conn, reason CloseReason, now time.Time) {
	if c.h2 == nil || c.served.Load() || age(now, c.opened) > fruitlessSpan {
		return
	}
	switch reason {
	case ReasonGoAway, ReasonPeerAborted, ReasonPeerClosed, ReasonError, ReasonTimeout:
		h.fruitless++
		h.dialNotBefore = now.Add(dialPause(h.fruitless, h.t.set.Jitter()))
	}
}

// dialPause is how long dials pause after n fruitless connections in a row, with a jitter
// in [0, 1).
func dialPause(n int, jitter float64) time.Duration {
	if n < 2 {
		return 0
	}
	d := min(firstDialPause<<min(n-2, 10), maxDialPause)
	return d/2 + time.Duration(jitter*float64(d)/2)
}

// noteServed is called when a request was answered on a shared connection.
func (h *host) noteServed(c *conn) {
	if c.served.Load() || c.served.Swap(true) {
		return
	}
	h.mu.Lock()
	h.fruitless, h.dialNotBefore = 0, time.Time{}
	h.dialMissingLocked() // the pause is over
	h.mu.Unlock()
}

// pausesLocked reports whether dials to the host pause now. If they do, they go on by
// themselves.
func (h *host) pausesLocked(now time.Time) bool {
	wait := h.dialNotBefore.Sub(now)
	if wait <= 0 {
		return false
	}
	if !h.dialsPaused {
		h.dialsPaused = true
		time.AfterFunc(wait, func() {
			h.mu.Lock()
			h.dialsPaused = false
			h.dialMissingLocked()
			h.mu.Unlock()
		})
	}
	return true
}
