//go:build proxies && unix

package realproxy

import (
	"sync"
	"time"

	"example.com/connwise/pool"
)

// shownTimes counts how often a proxy's timer for unused connections has shown itself: closes at
// about the same time are one.
type shownTimes struct {
	mu sync.Mutex
	at time.Time // when the last one began
	n  int
}

// note is a pool.Trace's Retired.
func (s *shownTimes) note(e pool.RetireEvent) {
	if e.How == "" || e.Requests > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.at) > shortIdle/10 {
		s.at = now
		s.n++
	}
}

func (s *shownTimes) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}
