package pool

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/connwise/dialer"
)

// A guardHost is everything that a Guard knows of one address: its connections, the dials
// that wait for a slot, and what its connections have shown of the peer's timers.
type guardHost struct {
	addr   string
	cfg    GuardHost
	trace  *Trace                     // nil: nobody is told
	limits atomic.Pointer[idleLimits] // what follows from known; readable without mu

	given given

	// mu guards what follows. Under it nothing waits, and no lock is taken.
	mu      sync.Mutex
	conns   map[*guardConn]struct{}
	slots   int // taken: connections and dials
	dialing int
	visits  int // dials that have found the host and are not in its books yet
	queue   queue
	known   knowledge
	proto   protocol
	tot     Totals
	usedAt  time.Time // the last dial or close
}

// dialFailed counts a dial that has failed at a stage, as failedStage says.
func (h *guardHost) dialFailed(stage dialer.Stage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialing--
	h.tot.DialsFailed++
	h.tot.DialFailures.count(stage)
	h.usedAt = time.Now()
	h.freeLocked()
}

// opened puts a new connection into the books. The dial took so long, of which connect was spent
// on connecting.
func (h *guardHost) opened(nc net.Conn, connect, took time.Duration) *guardConn {
	c := newGuardConn(nc, h)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialing--
	h.tot.Opened++
	h.tot.DialTimes.observe(took)
	if h.conns == nil {
		h.conns = make(map[*guardConn]struct{})
	}
	h.conns[c] = struct{}{}
	shorten(&h.known.path.connect, connect)
	h.refreshLocked(c.opened)
	return c
}

// closed takes c out of the books: it is closed, and had been idle for so long; negative: it was
// in use.
func (h *guardHost) closed(c *guardConn, reason CloseReason, idle time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.tot.countClosed(reason, idle)
	h.usedAt = time.Now()
	h.freeLocked()
}

// noteBegun notes that a request, as far as can be seen, begins on a connection.
func (h *guardHost) noteBegun(s *sense) {
	if !s.ages() {
		return
	}
	h.given.count(s.started)
}

func (h *guardHost) noteStale() {
	h.mu.Lock()
	h.tot.Stale++
	h.mu.Unlock()
}

// restingLocked tells whether the host may be forgotten.
func (h *guardHost) restingLocked() bool { return h.slots == 0 && h.queue.len() == 0 && h.visits == 0 }

func (h *guardHost) totalsLocked() (tot Totals) {
	h.copyTotalsLocked(&tot)
	return tot
}

func (h *guardHost) copyTotalsLocked(tot *Totals) {
	h.tot.copyTo(tot)
	tot.Sent, tot.Reused = h.given.load()
}

func (h *guardHost) readStats(hs *HostStats) {
	tot := hs.Totals
	h.mu.Lock()
	l := h.refreshLocked(time.Now())
	conns := make([]*guardConn, 0, len(h.conns))
	for c := range h.conns {
		conns = append(conns, c)
	}
	h.copyTotalsLocked(&tot)
	*hs = HostStats{
		Host:              h.addr,
		Proto:             h.proto.String(),
		Open:              len(conns),
		Dialing:           h.dialing,
		Waiting:           h.queue.len(),
		IdleLimit:         l.used.limit,
		IdleLimitSource:   l.used.from.String(),
		UnusedLimit:       l.unused.limit,
		UnusedLimitSource: l.unused.from.String(),
		LearntIdle:        l.known.learnt,
		LearntUnused:      l.learntUnused,
		RTT:               h.known.path.connect,
		MaxConns:          h.cfg.MaxConnsPerHost,
		MaxWait:           h.cfg.MaxWait,
		Totals:            tot,
	}
	h.mu.Unlock()
	for _, c := range conns {
		if c.idle() {
			hs.Idle++
		}
	}
	hs.InUse = hs.Open - hs.Idle
}
