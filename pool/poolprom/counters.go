package poolprom

import "example.com/connwise/pool"

// The labels whose values are known beforehand.
var (
	stateIdle, stateInUse, stateDialing = newPair("state", "idle"), newPair("state", "in_use"), newPair("state", "dialing")
	connNew, connReused                 = newPair("connection", "new"), newPair("connection", "reused")
	resultYes, resultNo                 = newPair("result", "answered"), newPair("result", "unanswered")

	stages = [...]struct {
		pair pair
		of   func(*pool.DialFailures) uint64
	}{
		{newPair("stage", "resolve"), func(f *pool.DialFailures) uint64 { return f.Resolve }},
		{newPair("stage", "connect"), func(f *pool.DialFailures) uint64 { return f.Connect }},
		{newPair("stage", "proxy"), func(f *pool.DialFailures) uint64 { return f.Proxy }},
		{newPair("stage", "tls"), func(f *pool.DialFailures) uint64 { return f.TLS }},
		{newPair("stage", "abandoned"), func(f *pool.DialFailures) uint64 { return f.Abandoned }},
	}
)

// showCounters shows what has happened. What is counted by a reason that the pool finds for itself is
// there from the first time on; all else is there from the beginning, as rate and increase need it.
func (c *Collector) showCounters(s *sink, t *pool.Totals) {
	s.counterOf(c.names.requests, connReused, t.Reused)
	s.counterOf(c.names.requests, connNew, t.Sent-min(t.Sent, t.Reused))
	for i := range c.names.plain {
		s.counter(c.names.plain[i].desc, c.names.plain[i].of(t))
	}
	for i := range stages {
		s.counterOf(c.names.dialFailures, stages[i].pair, stages[i].of(&t.DialFailures))
	}
	s.histogram(c.names.waits, c.bounds, &t.WaitTimes)
	s.histogram(c.names.dials, c.bounds, &t.DialTimes)
	if t.Confirmed > 0 {
		s.counterOf(c.names.confirmations, resultYes, t.Confirmed-min(t.Confirmed, t.ConfirmFailed))
		s.counterOf(c.names.confirmations, resultNo, t.ConfirmFailed)
	}
	c.showCloses(s, t)
}

func (c *Collector) showCloses(s *sink, t *pool.Totals) {
	for r, n := range t.ClosedBy {
		if n > 0 {
			s.counterOf(c.names.closed, c.reasons.pair(string(r)), n)
		}
	}
	for r, a := range t.IdleAges {
		if a.Count > 0 {
			s.summaryOf(c.names.idleAges, c.reasons.pair(string(r)), a.Count, a.Sum)
		}
	}
	for how, n := range t.IdleCloses {
		if n > 0 {
			s.counterOf(c.names.idleCloses, c.hows.pair(how), n)
		}
	}
}
