package pool

import "sync/atomic"

// given counts the requests that a host's connections were given, without a lock as each request
// touches it. It counts each in one place only: Totals.Sent - Totals.Reused is a counter too, which
// two that are read one after the other would have go back now and then.
type given struct {
	fresh  atomic.Uint64 // on a connection that had carried none before
	reused atomic.Uint64 // Totals.Reused
}

func (g *given) count(reused bool) {
	if reused {
		g.reused.Add(1)
	} else {
		g.fresh.Add(1)
	}
}

// load returns Totals.Sent and Totals.Reused.
func (g *given) load() (sent, reused uint64) {
	reused = g.reused.Load()
	return g.fresh.Load() + reused, reused
}
