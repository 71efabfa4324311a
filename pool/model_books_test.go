package pool

import (
	"slices"
	"time"
)

// This file looks at a host's books from inside, with everything at rest.

// checkBooks checks that the host's structures agree with each other, and that nothing is
// owed to anybody.
func (m *model) checkBooks(h *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.checkQueueLocked(h)
	m.checkConnsLocked(h)
	m.checkOwedLocked(h)
}

// checkQueueLocked: the queue has living waiters, in their order.
func (m *model) checkQueueLocked(h *host) {
	n := 0
	var prev *waiter
	for w := h.queue.head; w != nil; prev, w = w, w.next {
		n++
		switch {
		case w.prev != prev || !w.queued:
			m.errorf("the queue's links are broken at %d", n)
		case prev != nil && prev.place >= w.place:
			m.errorf("place %d of the queue is behind %d", prev.place, w.place)
		case w.ctx.Err() != nil:
			m.errorf("a request that has ended is in the queue: %v", w.ctx.Err())
		case len(w.ready) > 0:
			m.errorf("a request that was served is in the queue")
		}
	}
	if h.queue.tail != prev || h.queue.n != n {
		m.errorf("the queue has %d, and says %d", n, h.queue.n)
	}
}

// checkConnsLocked: each connection is in the one place where its state says.
func (m *model) checkConnsLocked(h *host) {
	dialing, idle := 0, 0
	for c := range h.conns {
		switch c.state {
		case connDialing:
			dialing++
		case connIdle:
			idle++
			if !slices.Contains(h.idle, c) || c.streams > 0 || c.leaving != "" {
				m.errorf("an idle connection that isn't: %d streams, leaving %q", c.streams, c.leaving)
			}
		case connWitness:
			idle++
			if c != h.witness {
				m.errorf("a second witness")
			}
		case connSettling:
			if !slices.Contains(h.settling, c) {
				m.errorf("a settling connection that isn't")
			}
		case connInUse:
			if c.h2 != nil && c.streams == 0 && !c.failing {
				m.errorf("a connection in use by nobody, leaving %q", c.leaving)
			}
			if c.inShared != slices.Contains(h.shared, c) || c.inShared != (c.h2 != nil && c.streams > 0 && c.takesLocked()) {
				m.errorf("a shared connection in the wrong place")
			}
		default:
			m.errorf("a connection that is gone is in the books")
		}
	}
	if dialing != h.dialing || len(h.idle) > idle || h.t.idle.Load() != int64(idle) {
		m.errorf("%d dialled and %d idle, the books say %d and %d", dialing, idle, h.dialing, h.t.idle.Load())
	}
	if most := m.cfg.idle; most > 0 && idle > most {
		m.errorf("%d idle, the most is %d", idle, most)
	}
}

// checkOwedLocked: no wake-up was lost. Who waits could not be served, and the dial that he
// needs is under way, or about to come.
func (m *model) checkOwedLocked(h *host) {
	if h.queue.len() == 0 || h.t.closed() {
		return
	}
	now := time.Now()
	for c := range h.conns {
		if m.hopesLocked(h) {
			break
		}
		if c.state != connIdle && !(c.state == connInUse && c.h2 != nil) || !c.takesLocked() || m.cfg.confirm > 0 {
			continue
		}
		if _, ok := judge(c.candidate(now)); ok {
			m.errorf("%d wait, and a connection (%d streams of %d) could serve", h.queue.len(), c.streams, c.limit)
		}
	}
	if h.dialing == 0 && !m.cfg.http2 && h.canDialLocked() {
		m.errorf("%d wait, %d of %d connections are open, and no dial is under way", h.queue.len(), len(h.conns), h.cfg.MaxConnsPerHost)
	}
	dials, paused, n := h.tot.Dials, h.dialsPaused, h.queue.len()
	if h.dialMissingLocked(); n != h.queue.len() {
		m.errorf("%d wait, and %d have nothing to wait for", n, n-h.queue.len())
	}
	if dials != h.tot.Dials || paused != h.dialsPaused {
		m.errorf("%d wait, and a dial is owed to them", h.queue.len())
	}
}

// hopesLocked tells whether all who wait could have another connection, and hope for a fresh one,
// which is being opened.
func (m *model) hopesLocked(h *host) bool {
	n, choosy := 0, 0
	for w := h.queue.head; w != nil; w = w.next {
		if n++; w.choosy {
			choosy++
		}
	}
	if choosy != h.queue.choosy {
		m.errorf("%d wait for a fresh connection, and the queue says %d", choosy, h.queue.choosy)
	}
	return choosy == n && n <= h.openingLocked()
}

// narrow keeps the window of dials as small as the run's is to be, so that few requests are
// enough for it to hold dials back.
func (m *model) narrow() {
	for _, h := range m.tr.allHosts() {
		h.mu.Lock()
		if most := m.cfg.window; most > 0 {
			h.window.limit = min(h.window.size(), most)
		}
		h.mu.Unlock()
	}
}

// A bookkeeper checks that nothing was lost at the end.
type bookkeeper struct{ m *model }

func (b *bookkeeper) wantAtRest() {
	m := b.m
	st := m.tr.Stats()
	for _, h := range st.Hosts {
		if h.Open != 0 || h.Idle != 0 || h.InUse != 0 || h.Dialing != 0 || h.Waiting != 0 {
			m.errorf("not at rest: %+v", h)
		}
	}
	m.checkTotals(st.Total)
	if t := st.Total; t.Opened != t.Closed || t.Failed != m.ended {
		m.errorf("the books don't balance: %+v, %d failed", t, m.ended)
	}
	if n := m.tr.idle.Load(); n != 0 {
		m.errorf("%d idle connections are counted", n)
	}
}
