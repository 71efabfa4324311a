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
	// A sweep looks at each host: the more there are, the less often it comes.
	sweepGrain        = 5 * time.Millisecond
	sweepGrainPerHost = 20 * time.Microsecond
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
	hosts := time.Duration(s.t.nhosts.Load())
	wait := max(time.Until(at), sweepGrain+hosts*sweepGrainPerHost)
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

// keepHosts is how long an unused host is remembered now.
func (t *Transport) keepHosts() time.Duration {
	if t.nhosts.Load() > manyHosts {
		return 0
	}
	return forgetAfter
}

// sweepForgotten sees to it that a host that was just left without connections is
// forgotten in time.
func (t *Transport) sweepForgotten() { t.sweep.by(time.Now().Add(t.keepHosts())) }

// run retires what is due in every host and sets the timer for what is next.
func (s *sweeper) run() {
	s.mu.Lock()
	s.due = time.Time{}
	s.mu.Unlock()
	now := time.Now()
	keep := s.t.keepHosts()
	for _, h := range s.t.allHosts() {
		h.forgetOld(now)
		next := h.dropIdleIf(func(c *conn) (CloseReason, bool) {
			if c.state == connWitness {
				return c.judgeWitness(c.candidate(now))
			}
			reason, ok := judge(c.candidate(now))
			return reason, !ok
		})
		if next.IsZero() {
			next = s.t.forget(h, now, keep)
		}
		s.t.sweepBy(next)
	}
}
