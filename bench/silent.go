package bench

import (
	"context"
	"time"

	"example.com/connwise/internal/peer"
)

// silent is what a NAT or a load balancer does that forgets a connection without a word.
var silent = scenario{
	name:  "silent",
	quick: []string{"h1"},
	about: "like idle-race, with POSTs and GETs, but what the peer does with a connection that was idle for longer than its timeout is nothing: no FIN, no RST, and what is sent on it vanishes, as where a NAT or a load balancer has forgotten it. A call may take 1 s. The clients are told the timeout, as one would read it in a manual; net/http, as it comes, keeps connections for 90 s all the same",
	timed: true,
	limit: time.Second,
	least: (*plan).idleTimes,
	faults: func(p *plan) faults {
		return faults{
			idle:  p.IdleTimeout,
			more1: func(f *peer.Faults) { f.Style = peer.Silence },
			more2: func(f *peer.H2Faults) { f.GoAway.Style = peer.Silence },
		}
	},
	callers: func(p *plan) int { return p.Workers },
	run:     func(ctx context.Context, r *rig) error { return inPaces(ctx, r, mixedMethod) },
}
