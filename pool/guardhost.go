package pool

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/connwise/health"
	"example.com/connwise/internal/wire"
)

// A guardHost is everything that a Guard knows of one address: its connections, the dials
// that wait for a slot, and what its connections have shown of the peer's timers.
type guardHost struct {
	addr   string
	cfg    GuardHost
	limits atomic.Pointer[guardLimits] // what follows from what is known; readable without mu

	sent, reused atomic.Uint64 // Totals' counters that each request touches

	// mu guards what follows. Under it nothing waits, and no lock is taken.
	mu           sync.Mutex
	conns        map[*guardConn]struct{}
	slots        int // taken: connections and dials
	dialing      int
	visits       int // dials that have found the host and are not in its books yet
	queue        queue
	used, unused learner // as in knowledge
	path         path
	proto        protocol
	tot          Totals
	usedAt       time.Time // the last dial or close
}

// guardLimits are the idle limits in force, zero for none.
type guardLimits struct {
	used, unused         time.Duration
	from, fromUnused     limitSource
	learnt, learntUnused time.Duration
	disproof             time.Duration // see learner
}

// refreshLocked takes over what has become known, and forgets what has grown old.
func (h *guardHost) refreshLocked(now time.Time) *guardLimits {
	t := timeouts{configured: h.cfg.ProxyIdleTimeout, margin: h.cfg.IdleMargin, path: h.path}
	l := &guardLimits{}
	l.learntUnused, _, _ = h.unused.value(now)
	t.learnt = l.learntUnused
	l.unused, l.fromUnused = t.limit()
	l.learnt, t.jitter, _ = h.used.value(now)
	t.learnt = l.learnt
	l.used, l.from = t.limit()
	l.disproof = h.used.disproof
	h.limits.Store(l)
	return l
}

// limitFor is the limit in force for a connection that was found alive after it had been idle
// for so long; zero: none. The host's lock is taken only where that may change something.
func (h *guardHost) limitFor(s *sense, idle time.Duration, now time.Time) time.Duration {
	if !s.ages() {
		return 0
	}
	l := h.limits.Load()
	limit := l.of(s.started)
	if disproved := s.started && l.disproof > 0 && idle > l.disproof; disproved || limit > 0 && idle >= limit {
		h.mu.Lock()
		if s.started {
			h.used.survived(idle)
		}
		limit = h.refreshLocked(now).of(s.started) // what was learnt may have grown old, too
		h.mu.Unlock()
	}
	return limit
}

func (l *guardLimits) of(used bool) time.Duration {
	if used {
		return l.used
	}
	return l.unused
}

// noteBegun notes that a request, as far as can be seen, begins on a connection.
func (h *guardHost) noteBegun(s *sense) {
	if !s.ages() {
		return
	}
	h.sent.Add(1)
	if s.started {
		h.reused.Add(1)
	}
}

func (h *guardHost) noteStale() {
	h.mu.Lock()
	h.tot.Stale++
	h.mu.Unlock()
}

// noteIdleClose notes that the peer closed a connection that had been idle for so long.
func (h *guardHost) noteIdleClose(how health.Cause, used bool, idle time.Duration, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tot.IdleCloses == nil {
		h.tot.IdleCloses = make(map[string]uint64)
	}
	h.tot.IdleCloses[how.String()]++
	l := &h.used
	if !used {
		l = &h.unused
	}
	l.closed(idle, now)
	h.refreshLocked(now)
}

// noteExchange notes how long the first exchange on a connection took, or its handshake, and
// what is spoken on it, if that is known.
func (h *guardHost) noteExchange(took time.Duration, proto protocol) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if proto != 0 {
		h.proto = proto
	}
	if shorten(&h.path.exchange, took) {
		h.refreshLocked(time.Now())
	}
}

// enter takes a slot, and waits for one if it has to. The error is an *Error of PhaseWait.
func (h *guardHost) enter(ctx context.Context) error {
	h.mu.Lock()
	h.visits--
	h.usedAt = time.Now()
	limit := h.cfg.MaxConnsPerHost
	switch {
	case ctx.Err() != nil:
		h.mu.Unlock()
		return &Error{Phase: PhaseWait, Host: h.addr, Err: wire.Ended(ctx)}
	case limit == 0 || h.slots < limit:
		h.slots++
		h.beginLocked()
		h.mu.Unlock()
		return nil
	case h.cfg.MaxWaiters > 0 && h.queue.len() >= h.cfg.MaxWaiters:
		defer h.mu.Unlock()
		h.tot.WaitTimeouts++
		return &Error{Phase: PhaseWait, Host: h.addr, Queued: h.queue.len(), Err: ErrTooManyWaiters}
	}
	w := &waiter{ready: make(chan delivery, 1), since: h.usedAt}
	h.queue.push(w)
	h.tot.Waited++
	h.mu.Unlock()
	return h.wait(ctx, w)
}

// beginLocked counts the dial that a slot is taken for.
func (h *guardHost) beginLocked() {
	h.dialing++
	h.tot.Dials++
}

// wait waits until the slot comes, the time is up or ctx ends.
func (h *guardHost) wait(ctx context.Context, w *waiter) error {
	var expired <-chan time.Time
	if max := h.cfg.MaxWait; max > 0 {
		timer := time.NewTimer(max)
		defer timer.Stop()
		expired = timer.C
	}
	var err error
	select {
	case <-w.ready:
		h.mu.Lock()
		h.tot.WaitTime += time.Since(w.since)
		h.beginLocked()
		h.mu.Unlock()
		return nil
	case <-expired:
		err = ErrWaitTimeout
	case <-ctx.Done():
		err = wire.Ended(ctx)
	}
	return h.leave(w, err)
}

// leave takes w out of the queue. If it was given a slot in the meantime, the next gets it.
func (h *guardHost) leave(w *waiter, cause error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &Error{Phase: PhaseWait, Host: h.addr, Waited: time.Since(w.since), Queued: h.queue.len(), Err: cause}
	h.tot.WaitTime += e.Waited
	if cause == ErrWaitTimeout {
		h.tot.WaitTimeouts++
	}
	if w.queued {
		h.queue.remove(w)
		return e
	}
	h.freeLocked()
	return e
}

// freeLocked gives a slot to the oldest waiter.
func (h *guardHost) freeLocked() {
	if w := h.queue.pop(); w != nil {
		w.ready <- delivery{}
		return
	}
	h.slots--
}

func (h *guardHost) dialFailed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialing--
	h.tot.DialsFailed++
	h.usedAt = time.Now()
	h.freeLocked()
}

// opened puts a new connection into the books. connect is what it took.
func (h *guardHost) opened(nc net.Conn, connect time.Duration) *guardConn {
	c := newGuardConn(nc, h)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialing--
	h.tot.Opened++
	if h.conns == nil {
		h.conns = make(map[*guardConn]struct{})
	}
	h.conns[c] = struct{}{}
	shorten(&h.path.connect, connect)
	h.refreshLocked(c.opened)
	return c
}

// closed takes c out of the books: it is closed.
func (h *guardHost) closed(c *guardConn, reason CloseReason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.tot.Closed++
	if h.tot.ClosedBy == nil {
		h.tot.ClosedBy = make(map[CloseReason]uint64)
	}
	h.tot.ClosedBy[reason]++
	h.usedAt = time.Now()
	h.freeLocked()
}

// restingLocked tells whether the host may be forgotten.
func (h *guardHost) restingLocked() bool { return h.slots == 0 && h.queue.len() == 0 && h.visits == 0 }

func (h *guardHost) totalsLocked() Totals {
	tot := h.tot.clone()
	tot.Sent, tot.Reused = h.sent.Load(), h.reused.Load()
	return tot
}

func (h *guardHost) stats() HostStats {
	h.mu.Lock()
	l := h.refreshLocked(time.Now())
	conns := make([]*guardConn, 0, len(h.conns))
	for c := range h.conns {
		conns = append(conns, c)
	}
	hs := HostStats{
		Host:              h.addr,
		Proto:             h.proto.String(),
		Open:              len(conns),
		Dialing:           h.dialing,
		Waiting:           h.queue.len(),
		IdleLimit:         l.used,
		IdleLimitSource:   l.from.String(),
		UnusedLimit:       l.unused,
		UnusedLimitSource: l.fromUnused.String(),
		LearntIdle:        l.learnt,
		LearntUnused:      l.learntUnused,
		RTT:               h.path.connect,
		Totals:            h.totalsLocked(),
	}
	h.mu.Unlock()
	for _, c := range conns {
		if c.idle() {
			hs.Idle++
		}
	}
	hs.InUse = hs.Open - hs.Idle
	return hs
}
