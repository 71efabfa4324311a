package pool

import "time"

// This file has what the model asks of those who wait, and of dials.

// checkOrder: none is overtaken by one that came later.
func (m *model) checkOrder() {
	if m.unsettled() {
		return // who is replaced keeps his place, but is not in the queue for a moment
	}
	for _, r := range m.arrivals {
		for _, older := range m.seen.waiting {
			if !older.fresh.IsZero() {
				continue // it may wait for a dial, and pass over what others take
			}
			if older.id < r.id && older.unplaced() && older.came == 0 && older.cautious == r.cautious && !(m.asking() && older.cautious) {
				m.errorf("request %d has overtaken %d", r.id, older.id)
			}
		}
	}
}

// checkWaits: who waits does so for a reason, and no longer than told.
func (m *model) checkWaits() {
	waiting := some(m.reqs, (*modelReq).unplaced)
	now := time.Now()
	for _, r := range waiting {
		since := later(later(r.began, m.seen.dialingAt), m.seen.unrest) // for nothing but capacity
		if d := now.Sub(since); m.cfg.wait > 0 && d >= m.cfg.wait && !m.asking() {
			m.errorf("request %d waits since %v, the longest is %v", r.id, d, m.cfg.wait)
		}
	}
}

// checkWaiters: there are no more of them than told, but for those whom a dial may serve.
func (m *model) checkWaiters() {
	full := m.cfg.limit > 0 && len(m.openConns()) == m.cfg.limit
	if n := len(m.seen.waiting); m.cfg.waiters == 0 || n < m.cfg.waiters || !full || m.seen.opening || m.opening() || m.unsettled() || m.asking() {
		return
	}
	for _, r := range m.reqs[m.seen.reqs:] {
		if r.unplaced() {
			m.errorf("request %d waits as one of %d", r.id, len(m.seen.waiting)+1)
		}
	}
}

// checkDials: a dial that nobody waits for is kept for a grace, and ended by the next look.
// A slow one gets company.
func (m *model) checkDials() {
	waiting, now := len(some(m.reqs, (*modelReq).unplaced)), time.Now()
	wanted, grace := waiting+m.cfg.minIdle, orphanGrace
	if waiting > 0 {
		wanted++
	}
	if len(m.warms) > 0 || m.cfg.minIdle+m.cfg.requests > 0 || m.cfg.age > 0 {
		grace = aheadGrace
	}
	if len(m.dials) <= wanted {
		m.seen.surplusAt = time.Time{}
	} else if m.seen.surplusAt.IsZero() {
		m.seen.surplusAt = now
	} else if d := now.Sub(m.seen.surplusAt); d > 2*grace && len(m.dialsSince(now.Add(-2*grace))) > wanted {
		m.errorf("since %v there are more dials (%d) than requests that wait (%d)", d, len(m.dials), waiting)
	}
}

// dialsSince are the dials that are under way since at, or for longer.
func (m *model) dialsSince(at time.Time) []*modelDial {
	return some(m.dials, func(d *modelDial) bool { return !d.began.After(at) })
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
