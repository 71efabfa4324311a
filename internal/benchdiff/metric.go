package benchdiff

import (
	"math"

	"example.com/connwise/bench"
)

// A metric is a figure that rows and their rounds have.
type metric struct {
	name, unit string
	more       bool // is better
	timed      bool // it depends on how fast the machine is
	zero       bool // it must be zero: more than that needs no statistics
	row        func(*bench.Result) *float64
	round      func(*bench.Sample) *float64 // nil: rounds have no figure of their own
	// perRequest is set where both the count and its share of the requests have to change in one
	// direction: of the count alone a faster round has more, of the share a slower one.
	perRequest bool
}

var metrics = []metric{
	{name: "avoidable", zero: true, row: func(r *bench.Result) *float64 { return whole(r.Avoidable) }, round: func(s *bench.Sample) *float64 { return share(s.Avoidable, s) }},
	{name: "twice", zero: true, row: func(r *bench.Result) *float64 { return whole(r.ExecutedTwice) }, round: func(s *bench.Sample) *float64 { return share(s.ExecutedTwice, s) }},
	{name: "lost", zero: true, row: func(r *bench.Result) *float64 { return whole(r.Lost) }, round: func(s *bench.Sample) *float64 { return share(s.Lost, s) }},
	{name: "damaged", zero: true, row: func(r *bench.Result) *float64 { return whole(r.Damaged) }},
	{name: "violations", zero: true, row: func(r *bench.Result) *float64 { return whole(&r.Violations) }},
	{name: "left open", zero: true, row: func(r *bench.Result) *float64 { return whole(r.LeftOpen) }},
	{name: "failed", row: func(r *bench.Result) *float64 { return whole(&r.Failed) }, round: func(s *bench.Sample) *float64 { return share(&s.Failed, s) }},
	{name: "cpu", unit: "us/req", timed: true, row: func(r *bench.Result) *float64 { return r.CPUPerRequest }, round: func(s *bench.Sample) *float64 { return s.CPUPerRequest }},
	{name: "allocs", unit: "/req", row: func(r *bench.Result) *float64 { return &r.AllocsPerRequest }, round: func(s *bench.Sample) *float64 { return &s.AllocsPerRequest }},
	{name: "p50", unit: "us", timed: true, row: func(r *bench.Result) *float64 { return r.P50 }, round: func(s *bench.Sample) *float64 { return s.P50 }},
	{name: "p99", unit: "us", timed: true, row: func(r *bench.Result) *float64 { return r.P99 }, round: func(s *bench.Sample) *float64 { return s.P99 }},
	{name: "wave p99", unit: "us", timed: true, row: func(r *bench.Result) *float64 { return r.WaveP99 }, round: func(s *bench.Sample) *float64 { return s.WaveP99 }},
	{name: "rate", unit: "req/s", timed: true, more: true, row: func(r *bench.Result) *float64 { return &r.RPS }, round: func(s *bench.Sample) *float64 { return &s.RPS }},
	{name: "reads+writes", unit: "/req", row: func(r *bench.Result) *float64 { return r.Syscalls }, round: func(s *bench.Sample) *float64 { return s.Syscalls }},
	{name: "dials", perRequest: true, row: func(r *bench.Result) *float64 { return whole(r.Dials) }, round: func(s *bench.Sample) *float64 { return whole(s.Dials) }},
}

func whole(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// share is a count for each request of a round.
func share(n *int64, s *bench.Sample) *float64 {
	if n == nil || s.Requests <= 0 {
		return nil
	}
	return new(float64(*n) / float64(s.Requests))
}

// figure is x if it can be compared: a finite number that isn't negative.
func figure(x *float64) (float64, bool) {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) || *x < 0 {
		return 0, false
	}
	return *x, true
}

// rounds are the figures of a row's rounds, divided by the reference's in the same round where
// there is one.
func (m metric) rounds(of, to *bench.Result) []float64 {
	if m.round == nil {
		return nil
	}
	var xs []float64
	for i := range of.Samples {
		x, ok := figure(m.round(&of.Samples[i]))
		if ok && to != nil {
			x, ok = quotient(x, m, to, i)
		}
		if ok {
			xs = append(xs, x)
		}
	}
	return xs
}

// quotient is x over the reference's figure in round i.
func quotient(x float64, m metric, to *bench.Result, i int) (float64, bool) {
	if i >= len(to.Samples) {
		return 0, false
	}
	y, ok := figure(m.round(&to.Samples[i]))
	if !ok || y == 0 || math.IsInf(x/y, 0) {
		return 0, false
	}
	return x / y, true
}

// requests are a row's rounds', as often as rounds gives a figure without a reference.
func (m metric) requests(of *bench.Result) []float64 {
	var ns []float64
	for i := range of.Samples {
		if _, ok := figure(m.round(&of.Samples[i])); ok {
			ns = append(ns, float64(max(of.Samples[i].Requests, 1)))
		}
	}
	return ns
}
