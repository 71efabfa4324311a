package bench

import "cmp"

// limitedConns are burst-limit's, and queuedConns queue's.
const (
	limitedConns = 64
	queuedConns  = 16
)

// burstLimit is burst-warm for a client that may not have a connection for each request of a
// burst, as where a database or a licence bounds them.
var burstLimit = scenario{
	name:    "burst-limit",
	about:   "burst-warm with 64 connections at most (--max-conns), all of them opened before, and over HTTP/2 one with as many streams: most of a burst has to wait for those before it, 5 s at most with connwise (--max-wait)",
	slow:    true,
	paced:   true,
	quick:   []string{"h1"},
	traced:  true,
	faults:  func(p *plan) faults { return faults{delay: p.Delay} },
	callers: func(*plan) int { return mostOpen },
	warm:    func(p *plan) int { return cmp.Or(p.MaxConns, limitedConns) },
	room:    func(p *plan) int { return cmp.Or(p.MaxConns, limitedConns) },
	run:     burstWarm,
}
