package pool

import (
	"sync"
	"time"
)

const (
	// forgetAfter is how long a host without connections is remembered, for its
	// counters in Stats.
	forgetAfter = 5 * time.Minute
	// manyHosts is how many hosts are remembered so: with more, those without
	// connections are forgotten at once (a crawler's million hosts must not stay).
	manyHosts = 1024
	// sweepGrain is the shortest time between two sweeps.
	sweepGrain = 5 * time.Millisecond
)

// A sweeper retires idle connections when their time is over, and forgets hosts. It is
// hygiene only: the limit itself is kept at checkout. It has a timer and no goroutine,
// and is at rest while nothing is due.
type sweeper struct {
	t *Transport

	mu    sync.Mutex
	timer *time.Timer
	due   time.Time // when the timer fires; zero: at rest
}

// sweepBy makes sure that a sweep comes at the given time. Zero: none is needed.
func (t *Transport) sweepBy(at time.Time) {
	if !at.IsZero() {
		t.sweep.by(at)
	}
}

func (s *sweeper) by(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.due.IsZero() && !at.Before(s.due) || s.t.closed() {
		return
	}
	s.due = at
	wait := max(time.Until(at), sweepGrain)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.run)
	} else {
		s.timer.Reset(wait)
	}
}

func (s *sweeper) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.due = time.Time{}
}

// run retires what is due in every host and sets the timer for what is next.
func (s *sweeper) run() {
	s.mu.Lock()
	s.due = time.Time{}
	s.mu.Unlock()
	now := time.Now()
	hosts := s.t.allHosts()
	keep := forgetAfter
	if len(hosts) > manyHosts {
		keep = 0
	}
	for _, h := range hosts {
		next := h.dropIdleIf(func(c *conn) (CloseReason, bool) {
			reason, ok := judge(c.candidate(now))
			return reason, !ok
		})
		s.t.sweepBy(next)
		s.t.forget(h, func(h *host) bool { return age(now, h.usedAt) >= keep })
	}
}
