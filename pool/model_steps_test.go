package pool

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"syscall"
	"time"

	"pgregory.net/rapid"
)

// A step is something that happens. n says to which of those that it could happen to, and
// v how.
type step struct {
	what string
	n, v int
}

func (s step) String() string { return fmt.Sprintf("%s %d %d", s.what, s.n, s.v) }

// What may happen, the likely more than once. A failing run shrinks to the first of them.
var (
	stepsOfBoth = []string{
		"nothing", "get", "get", "get", "post", "post", "get until", "post until", "get fresh", "get fresh", "post fresh", "cancel",
		"dial ok", "dial ok", "dial ok", "dial ok", "dial ok", "dial ok", "dial fails",
		"answer", "answer", "answer", "answer", "answer", "answer", "answer", "answer in part", "answer the rest",
		"read", "read", "read", "read", "read", "close body",
		"sleep", "sleep", "sleep", "sleep long", "suspend", "fin", "rst",
		"close idle", "drain", "warm", "shutdown", "close",
	}
	stepsOfHTTP1 = append(slices.Clip(stepsOfBoth), "answer and close", "surplus", "write fails", "continue")
	stepsOfHTTP2 = append(slices.Clip(stepsOfBoth), "settings", "settings", "settings", "goaway", "refuse", "reset", "mute", "dial ok", "answer", "answer")
	rareSteps    = map[string]int{"shutdown": 20, "close": 20, "sleep long": 2, "close idle": 3, "drain": 3, "suspend": 3, "warm": 3}
)

func drawSteps(rt *rapid.T, http2 bool) []step {
	of := stepsOfHTTP1
	if http2 {
		of = stepsOfHTTP2
	}
	one := rapid.Custom(func(rt *rapid.T) step {
		s := step{
			what: of[uniform(rt, len(of))],
			n:    uniform(rt, 8),
			v:    uniform(rt, 16),
		}
		if odds := rareSteps[s.what]; odds > 0 && uniform(rt, odds) > 0 {
			s.what = "nothing"
		}
		return s
	})
	return rapid.SliceOfN(one, 50, 200).Draw(rt, "steps")
}

// uniform is a number below n, of which none is more likely than others, as rapid's own are.
func uniform(rt *rapid.T, n int) (k int) {
	for range bits.Len(uint(n)) + 2 {
		k *= 2
		if rapid.Bool().Draw(rt, "bit") {
			k++
		}
	}
	return k % n
}

// stepOf is what the step does, nil if there is nothing that it could be done to.
func (m *model) stepOf(s step) func() {
	switch s.what {
	case "get", "post", "get until", "post until", "get fresh", "post fresh":
		return func() { m.request(s) }
	case "cancel":
		return one(m.pending(), s, (*modelReq).stop)
	case "read":
		return one(m.answered(), s, func(r *modelReq) { r.decide(fateRead) })
	case "close body":
		return one(m.answered(), s, func(r *modelReq) { r.decide(fateClose) })
	case "dial ok":
		return one(m.dials, s, func(d *modelDial) { d.done <- nil })
	case "dial fails":
		return one(m.dials, s, func(d *modelDial) { m.seen.failures = true; d.done <- errModelDial })
	case "sleep", "sleep long":
		return func() { m.unlocked(func() { time.Sleep(m.nap(s)) }) }
	case "suspend":
		return func() { m.suspend(m.nap(s)) }
	case "close idle":
		return func() { m.epoch++; m.unlocked(m.tr.CloseIdleConnections) }
	case "drain":
		return func() { m.epoch++; m.unlocked(func() { m.tr.Drain("host.test:80") }) }
	case "warm":
		return func() { m.warm(s) }
	case "shutdown":
		return m.shutDown
	case "close":
		return func() { m.over = true; m.unlocked(func() { m.tr.Close() }) }
	}
	if m.cfg.http2 {
		return m.stepOfHTTP2(s)
	}
	return m.stepOfHTTP1(s)
}

// one applies f to the step's choice.
func one[T any](of []T, s step, f func(T)) func() {
	if len(of) == 0 {
		return nil
	}
	x := of[s.n%len(of)]
	return func() { f(x) }
}

// some are those of xs for which f is true.
func some[T any](xs []T, f func(T) bool) (ys []T) {
	for _, x := range xs {
		if f(x) {
			ys = append(ys, x)
		}
	}
	return ys
}

// nap is how long the step sleeps: round values, values right at the limits, and long ones.
func (m *model) nap(s step) time.Duration {
	limit := m.cfg.idleLimit()
	naps := []time.Duration{time.Nanosecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond,
		50 * time.Millisecond, limit, limit - 1, m.cfg.wait, m.cfg.wait - 1}
	if s.what == "sleep long" {
		naps = []time.Duration{time.Second, 3 * time.Second, orphanGrace, 11 * time.Second, aheadGrace, 6 * time.Minute}
	}
	return max(naps[(s.n+s.v)%len(naps)], 1)
}

// suspend makes the idle connections older, as the wall clock does while a machine sleeps: no
// timer fires.
func (m *model) suspend(d time.Duration) {
	for _, h := range m.tr.allHosts() {
		h.mu.Lock()
		for c := range h.conns {
			if c.state == connIdle {
				c.idleSince = c.idleSince.Round(0).Add(-d)
				if mc := m.connOf(c); mc != nil {
					mc.idleSince = mc.idleSince.Add(-d)
				}
			}
		}
		h.mu.Unlock()
	}
}

func (m *model) shutDown() {
	if m.shut != nil {
		return
	}
	done := make(chan error, 1)
	m.shut = done
	m.epoch++
	go func() { done <- m.tr.Shutdown(context.Background()) }()
}

var errModelDial = syscall.EHOSTUNREACH
