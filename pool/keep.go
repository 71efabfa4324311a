package pool

import "time"

// This file has the keeper: it opens connections that no request has asked for, so that
// requests find one. It does so for Transport.Warm (warm.go), for Config.MinIdlePerHost, and in
// place of connections that are about to go (renew.go). It is a timer of the host's, and
// no goroutine: whatever may leave the host short of connections sets the timer, and each run
// counts (tally.go) and dials what is missing. Its dials are like any others: the oldest
// waiter takes the connection first. A run keeps to MaxConnsPerHost and to the dial window, and
// to what pace.go says of peers that don't take it well.

const (
	// keepFor is for how long after the last request, or Warm, MinIdlePerHost is kept up.
	keepFor = 5 * time.Minute
	// keepDelay is how long a lack of idle connections has to last where those in use would
	// make up for it: most are given back within milliseconds. It is seen up to as much later.
	keepDelay = 25 * time.Millisecond
	// aheadGrace is how long a dial that no request waits for may take.
	aheadGrace = 30 * time.Second
	// idleBoundPause is when to look again whether Base.MaxIdleConns leaves room.
	idleBoundPause = time.Second
)

// A keeper is a host's, guarded by host.mu.
type keeper struct {
	timer *time.Timer
	due   time.Time // when the timer fires; zero: at rest
	soon  bool      // that is within keepDelay

	lack      int       // the least lack that was seen since lackSince
	lackSince time.Time // zero: enough were idle the last time

	ahead      int           // dials in flight that no request has asked for, but for those that are cut
	successors int           // to be dialled for connections that are about to go, or just went
	heldAt     time.Time     // under MaxRequestsPerConn: when a connection was last taken
	took       time.Duration // what a dial takes: a moving average
	warmers    []*warmer
	pace       pace
}

// keepsLocked tells whether there is anything to keep up.
func (h *host) keepsLocked() bool {
	return h.cfg.MinIdlePerHost > 0 || h.cfg.MaxRequestsPerConn > 0 || h.t.set.MaxConnAge > 0 || len(h.keeper.warmers) > 0
}

// keepByLocked sees to it that the keeper runs at that time, or before.
func (h *host) keepByLocked(at time.Time) {
	k := &h.keeper
	if h.gone || h.t.closing() || h.t.set.disableKeepAlives || !k.due.IsZero() && !at.Before(k.due) {
		return
	}
	k.due = at
	if wait := time.Until(at); k.timer == nil {
		k.timer = time.AfterFunc(wait, h.keepUp)
	} else {
		k.timer.Reset(wait)
	}
}

// keepSoonLocked is called when a request has taken a connection or a stream, which may
// leave too few.
func (h *host) keepSoonLocked() {
	if k := &h.keeper; !k.soon && len(h.idle) < h.cfg.MinIdlePerHost {
		k.soon = true
		h.keepByLocked(time.Now().Add(keepDelay))
	}
}

// keepNowLocked is called when a connection has come or gone.
func (h *host) keepNowLocked(now time.Time) {
	if h.keepsLocked() {
		h.keepByLocked(now)
	}
}

// keepUp is the timer's: it dials what is missing now, and sets the timer for what is next.
func (h *host) keepUp() {
	now := time.Now()
	h.mu.Lock()
	k := &h.keeper
	k.due, k.soon = time.Time{}, false
	if h.gone || h.t.closing() {
		h.mu.Unlock()
		return
	}
	h.dialMissingLocked() // a connection that took its last request may have had more waiting for it
	t := h.tallyLocked(now)
	h.tellWarmersLocked(&t)
	early := h.dialAllLocked(&t, now)
	if !t.next.IsZero() {
		h.keepByLocked(t.next)
	}
	h.unlock()
	for _, c := range early {
		h.retire(c, c.leaving)
	}
}

// dialAllLocked dials what warmers, MinIdlePerHost and leaving connections need. It returns
// idle connections that leave for it, for the caller to retire.
func (h *host) dialAllLocked(t *tally, now time.Time) (early []*conn) {
	for n := h.warmLackLocked(t); n > 0 && h.dialForLocked(t, now, nil); n -= t.each {
	}
	lack := h.lackLocked(t, now)
	early = h.makeWayLocked(t, lack, now)
	for ; lack > 0 && h.dialForLocked(t, now, h.fitsPaceLocked); lack -= t.each {
	}
	if age(now, h.usedAt) >= busyFor || h.queue.len() > 0 { // those who wait get what there is room for
		h.keeper.successors = 0
	}
	for h.keeper.successors > 0 && h.dialForLocked(t, now, h.bearsLocked) {
		h.keeper.successors--
	}
	return early
}

// dialForLocked starts one dial, if limit, window and pace allow.
func (h *host) dialForLocked(t *tally, now time.Time, pace func(*tally, time.Time) bool) bool {
	if !h.canDialAheadLocked(now) || pace != nil && !pace(t, now) {
		return false
	}
	if !h.dialAheadLocked() {
		return false
	}
	t.by(now.Add(aheadGrace))
	t.coming = min(t.coming+t.each, plenty)
	return true
}

// canDialAheadLocked tells whether one more dial that nobody has asked for may start. If it
// is the window or the limit that is in the way, the end of a dial or a connection comes back to it.
func (h *host) canDialAheadLocked(now time.Time) bool {
	if h.proto == protocolHTTP2 && h.t.set.oneConn && h.hopefulLocked() {
		return false
	}
	if now.Before(h.dialNotBefore) {
		h.keepByLocked(h.dialNotBefore)
		return false
	}
	return h.canDialLocked() && h.windowOpenLocked()
}

// dialAheadLocked starts a dial for nobody. Its connection goes to the oldest waiter, if one
// has come by then, or becomes idle.
func (h *host) dialAheadLocked() bool {
	c := h.dialLocked()
	if c == nil {
		return false
	}
	h.tot.DialsAhead++
	c.ahead = true
	h.keeper.ahead++
	return true
}

// noteOpenedLocked is called when c's dial has succeeded.
func (h *host) noteOpenedLocked(c *conn, now time.Time) {
	k := &h.keeper
	took := max(now.Sub(c.dialAt), 0)
	if k.took == 0 {
		k.took = took
	} else {
		k.took += (took - k.took) / 4
	}
	if c.h2 == nil {
		h.noteWorksLocked()
	}
}

// noteWorksLocked is called when a new connection can be used: with HTTP/2 when the peer's
// first SETTINGS have come.
func (h *host) noteWorksLocked() {
	h.keeper.pace.noteWorks()
	for _, w := range h.keeper.warmers {
		w.opened, w.failed = true, 0
	}
}

// noteDialErrorLocked is called when c's dial has failed, or its connection broke before the
// handshake was over.
func (h *host) noteDialErrorLocked(c *conn, err error, now time.Time) {
	h.keeper.pace.noteFailed(c.dialAt, now, h.t.set.Jitter())
	h.failWarmersLocked(err)
}

// noteGoneLocked is called when c, which was open, has left the pool.
func (h *host) noteGoneLocked(c *conn, reason CloseReason, now time.Time) {
	if !h.keepsLocked() {
		return
	}
	h.noteEarlyLocked(c, reason, now)
	h.noteLostLocked(c, reason)
	h.keepNowLocked(now)
}

// endKeeping is called when the transport closes: what nobody waits for isn't waited for.
func (h *host) endKeeping() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopKeeperLocked()
	h.endWarmersLocked(&Error{Phase: PhaseWait, Host: h.key.addr, Err: ErrClosed})
	surplus := h.wantedDialsLocked() - h.queue.len()
	for c := range h.conns {
		if surplus > 0 && c.state == connDialing && !c.cut && c.ahead {
			h.cutLocked(c)
			surplus--
		}
	}
}

// stopKeeperLocked keeps runs away that haven't begun. A timer would keep the host in memory.
func (h *host) stopKeeperLocked() {
	if k := &h.keeper; k.timer != nil {
		k.timer.Stop()
	}
}
