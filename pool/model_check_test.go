package pool

import (
	"context"
	"errors"
	"time"
)

// This file has what has to hold after every step, with everything at rest.

// A history is what the model remembers of the steps before.
type history struct {
	start    time.Time
	failures bool      // dials have failed
	stepAt   time.Time // when the step began
	last     Totals    // behind the last step
	waiting  []*modelReq
	reqs     int  // how many there were
	opening  bool // a dial was under way

	unrest     time.Time // since the last time that a connection was replaced, or found stale
	dialingAt  time.Time // the last time that a dial was under way
	surplusAt  time.Time // since when there are more dials than requests that wait; zero: there aren't
	closedThen bool      // Close was called before this step
}

// before notes how things are before a step.
func (h *history) before(m *model) {
	h.stepAt = time.Now()
	h.closedThen = m.over
	h.waiting = some(m.reqs, (*modelReq).unplaced)
	h.reqs, h.opening = len(m.reqs), m.opening()
	m.arrivals = nil
	if h.opening {
		h.dialingAt = h.stepAt
	}
}

// opening tells whether a dial is under way, or the handshake of HTTP/2.
func (m *model) opening() bool {
	return len(m.dials) > 0 || m.cfg.http2 && len(some(m.openConns(), func(c *modelConn) bool { return !c.told })) > 0
}

// check compares the pool with the model.
func (m *model) check() {
	st := m.tr.Stats()
	if !m.over { // else what is closed counts until whoever holds it has noticed
		m.checkTotals(st.Total)
		m.checkGauges(st)
	}
	m.checkRequests()
	m.checkOrder()
	m.checkWaits()
	m.checkDials()
	m.checkWaiters()
	for _, h := range m.tr.allHosts() {
		m.checkBooks(h)
	}
	m.wantShut(false)
	m.seen.last = st.Total
}

// checkTotals: a slot and its connection are one value.
func (m *model) checkTotals(t Totals) {
	var sum uint64
	for _, n := range t.ClosedBy {
		sum += n
	}
	opened, open := len(m.conns), len(m.openConns())
	if t.Opened != uint64(opened) || t.Closed != uint64(opened-open) || sum != t.Closed {
		m.errorf("opened %d, closed %d, reasons %d; %d were opened and %d are open", t.Opened, t.Closed, sum, opened, open)
	}
	// A dial that is cut at once doesn't come as far as the hook.
	if t.Dials < m.begun || t.Dials != t.Opened+t.DialsFailed+uint64(len(m.dials)) {
		m.errorf("dials %d, failed %d; %d have begun, %d are under way", t.Dials, t.DialsFailed, m.begun, len(m.dials))
	}
	if last := m.seen.last; t.Replaced > last.Replaced || t.Stale > last.Stale || t.Refused > last.Refused ||
		t.ClosedBy[ReasonUnconfirmed] > last.ClosedBy[ReasonUnconfirmed] {
		m.seen.unrest = time.Now()
	}
	if t.Dials > m.seen.last.Dials || m.opening() {
		m.seen.dialingAt = time.Now()
	}
}

// unsettled tells whether a request may be between two connections, neither waiting nor held.
func (m *model) unsettled() bool {
	return !m.seen.unrest.IsZero() && time.Since(m.seen.unrest) <= 2*maxPause
}

// checkGauges: what the pool says to have is what callers and peers have.
func (m *model) checkGauges(st Stats) {
	var h HostStats
	switch len(st.Hosts) {
	case 0:
	case 1:
		h = st.Hosts[0]
	default:
		m.errorf("%d hosts", len(st.Hosts))
	}
	open := m.openConns()
	if h.Open != len(open) || h.Dialing != len(m.dials) || h.Idle+h.InUse != h.Open {
		m.errorf("open %d, idle %d, in use %d, dialing %d; open are %d, dialled %d", h.Open, h.Idle, h.InUse, h.Dialing, len(open), len(m.dials))
	}
	if limit := m.cfg.limit; limit > 0 && h.Open+h.Dialing > limit {
		m.errorf("%d open and %d dialled, the limit is %d", h.Open, h.Dialing, limit)
	}
	busy, unplaced := some(open, (*modelConn).busy), some(m.reqs, (*modelReq).unplaced)
	unheld := h.InUse - len(busy) // held by requests that no peer has seen
	early := len(some(open, (*modelConn).early))
	if h.Waiting > len(unplaced) || unheld < 0 {
		m.errorf("waiting %d, in use %d; %d requests are with no peer, %d connections busy", h.Waiting, h.InUse, len(unplaced), len(busy))
	}
	if !m.unsettled() && !m.asking() && (h.Waiting != len(unplaced) || unheld > early) {
		m.errorf("waiting %d, in use %d; %d requests are with no peer, %d connections busy", h.Waiting, h.InUse, len(unplaced), len(busy))
	}
}

// asking tells whether requests may hold connections that are being asked for a sign of life,
// by a PING.
func (m *model) asking() bool { return m.cfg.http2 && m.cfg.confirm > 0 }

// checkRequests: nothing waits without its context, and every error says what happened.
func (m *model) checkRequests() {
	var failed uint64
	for _, r := range m.reqs {
		now := time.Now()
		switch {
		case r.returned && r.err != nil:
			failed++
			m.checkError(r)
		case r.returned:
		case !r.stopped.IsZero():
			m.errorf("request %d was cancelled, and goes on", r.id)
		case !r.deadline.IsZero() && !now.Before(r.deadline):
			m.errorf("request %d goes on behind its deadline", r.id)
		case m.over:
			m.errorf("request %d goes on behind Close", r.id)
		}
	}
	m.ended = failed
	for _, w := range m.warms {
		if !w.returned && (!time.Now().Before(w.deadline) || m.over) {
			m.errorf("Warm goes on behind its deadline, or Close")
		}
	}
}

func (m *model) checkError(r *modelReq) {
	e, ok := errors.AsType[*Error](r.err)
	switch {
	case !ok:
		m.errorf("request %d: a bare error: %v", r.id, r.err)
		return
	case e.Phase.Unprocessed() && r.on != nil:
		m.errorf("request %d was processed, but: %v", r.id, r.err)
	case errors.Is(e, context.DeadlineExceeded) && !r.at.Equal(r.deadline) && !m.cfg.http2: // which has limits of its own
		m.errorf("request %d ended at %v, its deadline was %v", r.id, r.at, r.deadline)
	case errors.Is(e, context.Canceled) && !r.at.Equal(r.stopped):
		m.errorf("request %d ended at %v, it was cancelled at %v", r.id, r.at, r.stopped)
	case errors.Is(e, ErrTooManyWaiters) && (m.cfg.waiters == 0 || !r.at.Equal(r.began) && r.came == 0 && !(m.asking() && r.cautious)):
		m.errorf("request %d: %v, %v after it began", r.id, e, r.at.Sub(r.began))
	case errors.Is(e, ErrWaitTimeout) && (m.cfg.wait == 0 || e.Waited < m.cfg.wait || r.at.Sub(r.began) < m.cfg.wait ||
		m.seen.dialingAt.Before(r.began) && m.seen.unrest.Before(r.began) && r.at.Sub(r.began) > m.cfg.wait):
		m.errorf("request %d: %v, %v after it began, waited %v", r.id, e, r.at.Sub(r.began), e.Waited)
	case errors.Is(e, ErrClosed) && !m.over && m.shut == nil:
		m.errorf("request %d: %v, though nothing is", r.id, e)
	case errors.Is(e, errModelDial) && !m.seen.failures:
		m.errorf("request %d: %v, though no dial has failed", r.id, e)
	case (e.Phase == PhaseSending || e.Phase == PhaseSent || e.Phase == PhaseResponse) && r.came == 0:
		m.errorf("request %d never came to a peer, but: %v", r.id, e)
	}
}

// wantShut checks that Shutdown has returned if there is nothing left, and only then.
func (m *model) wantShut(must bool) {
	if m.shut == nil {
		return
	}
	rest := len(m.openConns()) == 0 && len(m.dials) == 0 && len(some(m.reqs, (*modelReq).unplaced)) == 0
	select {
	case err := <-m.shut:
		if err != nil {
			m.errorf("Shutdown: %v", err)
		}
		if !rest {
			m.errorf("Shutdown has returned with something left")
		}
		m.shut <- nil
		m.over = true
	default:
		if rest || must {
			m.errorf("Shutdown goes on: %+v", m.tr.Stats().Hosts)
		}
	}
}

// checkEnd is the end: nothing is left.
func (m *model) checkEnd() {
	for _, r := range m.reqs {
		if !r.over() {
			m.errorf("request %d goes on", r.id)
		}
	}
	(&bookkeeper{m}).wantAtRest()
	begun := m.begun
	m.unlocked(func() { time.Sleep(time.Hour) }) // whatever timers there are
	if m.begun != begun {
		m.errorf("%d dials behind Close", m.begun-begun)
	}
	m.unlocked(func() {
		for _, c := range m.conns {
			c.server.Close()
			if c.srv != nil {
				c.srv.Close()
			}
		}
	})
}
