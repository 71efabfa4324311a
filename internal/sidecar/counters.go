package sidecar

import (
	"maps"
	"sync"
)

// Counters are a Proxy's own totals since its start. Reloads don't end them.
type Counters struct {
	Requests uint64 // that have come
	Active   int64  // that are under way, upgraded connections included
	// Failures are those that the upstream hasn't answered, by the status of the sidecar's own
	// answer; 499 stands for those whose client had left.
	Failures map[int]uint64
	// BrokenOff are the answers of the upstream that did, but for those whose client had left.
	BrokenOff uint64
	// Streamed are those whose body wasn't kept to be sent again: it was too large, too slow,
	// or there was no memory left for it.
	Streamed      uint64
	ReplayBytes   int64 // that are reserved for bodies now
	Reloads       uint64
	ReloadsFailed uint64
}

// A tally has what Counters are read from.
type tally struct {
	mu sync.Mutex
	n  Counters // without Active and ReplayBytes; mu guards it
}

func (t *tally) add(change func(*Counters)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.n)
}

func (t *tally) failure(status int) {
	t.add(func(c *Counters) {
		if c.Failures == nil {
			c.Failures = make(map[int]uint64)
		}
		c.Failures[status]++
	})
}

// Counters returns a snapshot.
func (p *Proxy) Counters() Counters {
	p.tally.mu.Lock()
	c := p.tally.n
	c.Failures = maps.Clone(c.Failures)
	p.tally.mu.Unlock()
	c.Requests, c.Active, c.ReplayBytes = p.requests.Load(), p.active.Load(), p.replay.used.Load()
	return c
}
