package bench

import (
	"fmt"
	"slices"
	"time"
)

// checkUses refuses options that would change nothing. They are given, as in p a zero
// has been replaced.
func (p *plan) checkUses(given Options) error {
	paced := func(s scenario) bool { return s.paced }
	slow := func(s scenario) bool { return s.slow }
	if given.MaxWait > 0 && given.MaxConns == 0 && !p.use(func(s scenario) bool { return s.room != nil }) {
		return &UsageError{Option: "max-wait", Value: given.MaxWait.String(), Reason: "nothing waits without max-conns: set that too"}
	}
	if given.CallTimeout > 0 && p.target == nil {
		return &UsageError{Option: "call-timeout", Value: given.CallTimeout.String(), Reason: "is for calls to a target; those to the peer have the limit of their scenario"}
	}
	if given.Delay > 0 && p.target != nil {
		return &UsageError{Option: "delay", Value: given.Delay.String(), Reason: "is the peer's, and can't be set of a target"}
	}
	for _, o := range []struct {
		name  string
		value any
		given bool
		has   func(scenario) bool
	}{
		{"delay", given.Delay, given.Delay > 0, slow},
		{"rate", given.Rate, given.Rate > 0, paced},
		{"max-size", given.MaxSize, given.MaxSize > 0, func(s scenario) bool { return s.sizes != nil }},
		{"workers", given.Workers, given.Workers > 0, p.moves(func(p *plan, n int) { p.Workers, p.own.Workers = n, n })},
		{"burst", given.Burst, given.Burst > 0, p.moves(func(p *plan, n int) { p.Burst, p.warmBurst, p.own.Burst = n, n, n })},
		{"idle-timeout", given.IdleTimeout, given.IdleTimeout > 0, p.moves(func(p *plan, n int) { p.IdleTimeout = time.Duration(n) * time.Second })},
	} {
		if o.given && !p.use(o.has) {
			return &UsageError{Option: o.name, Value: fmt.Sprint(o.value), Reason: "none of the scenarios chosen has it", Known: scenariosThat(o.has)}
		}
	}
	return nil
}

// use says whether one of the chosen scenarios is of a kind.
func (p *plan) use(kind func(scenario) bool) bool { return slices.ContainsFunc(p.scenarios(), kind) }

// moves returns whether a scenario is another one when something is set to another number:
// with other callers, or other bursts, or other connections ready, or another idle timeout of
// the peer.
func (p *plan) moves(set func(*plan, int)) func(scenario) bool {
	return func(s scenario) bool { return s.shape(p, set, 1) != s.shape(p, set, 2) }
}

type shape struct {
	callers, ready, burst int
	idle                  time.Duration
}

func (s scenario) shape(p *plan, set func(*plan, int), n int) shape {
	other := *p
	set(&other, n)
	sh := shape{callers: s.callers(&other), idle: s.faults(&other).idle}
	if s.warm != nil {
		sh.ready = s.warm(&other)
	}
	if s.paced {
		sh.burst = other.warmBurst
	}
	return sh
}
