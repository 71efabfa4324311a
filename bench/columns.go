package bench

import (
	"fmt"
	"slices"
	"strconv"
)

// A column is one of the tables.
type column struct {
	name string
	cell func(Result) string // nothing: "-"
	some bool                // left out of the wide table where no row has something to say
	wide bool                // in the wide table alone
	// called is the name where it depends on the rows; nil: it doesn't.
	called func([]Result) string
	// narrow is what the others show in place of cell; nil: the same.
	narrow func(Result) string
	// worth is whether a row is a reason to show the column in a narrow table; nil: if it has
	// something to say.
	worth func(Result) bool
	// once leaves out what the row above says too.
	once bool
}

// nothing is a cell that has nothing to say.
const nothing = "-"

// columns are all of them. The first three are text.
var columns = []column{
	{name: "scenario", cell: func(r Result) string { return r.Scenario }, wide: true},
	{name: "proto", cell: func(r Result) string { return r.Proto }},
	{name: "client", cell: clientOf},
	{name: "load", cell: func(r Result) string { return text(r.Load) }, some: true, wide: true},
	{name: "proxy", cell: func(r Result) string { return text(r.Proxy) }, some: true, wide: true},
	{name: "size", cell: func(r Result) string { return count(r.Size) }, some: true},
	{name: "requests", cell: func(r Result) string { return count(&r.Requests) }},
	{name: "failed", cell: func(r Result) string { return count(&r.Failed) }},
	{name: "avoidable", cell: func(r Result) string { return count(r.Avoidable) }},
	{name: "twice", cell: func(r Result) string { return count(r.ExecutedTwice) }, worth: func(r Result) bool { return nonZero(r.ExecutedTwice) }},
	{name: "lost", cell: func(r Result) string { return count(r.Lost) }, worth: func(r Result) bool { return nonZero(r.Lost) }},
	{name: "damaged", cell: func(r Result) string { return count(r.Damaged) }, some: true, narrow: func(r Result) string { return notZero(r.Damaged) }},
	{name: "cancelled", cell: func(r Result) string { return count(r.Cancelled) }, some: true},
	{name: "dials", cell: func(r Result) string { return count(r.Dials) }},
	{name: "wasted", cell: func(r Result) string { return count(r.WastedDials) }, narrow: wastedMuch},
	{name: "left", cell: func(r Result) string { return count(r.LeftOpen) }, some: true, narrow: func(r Result) string { return notZero(r.LeftOpen) }},
	{name: "peak", cell: func(r Result) string { return count(r.PeakConns) }, wide: true},
	{name: "dialled", cell: func(r Result) string { return count(r.Dialled) }, some: true},
	{name: "p50 us", cell: func(r Result) string { return number(r.P50) }, narrow: func(r Result) string { return unlessWaves(r, r.P50) }},
	{name: "p99 us", cell: func(r Result) string { return number(r.P99) }, narrow: func(r Result) string { return unlessWaves(r, r.P99) }},
	{name: "p99.9 us", cell: func(r Result) string { return number(r.P999) }, wide: true},
	{name: "wait p50", cell: func(r Result) string { return number(r.WaitP50) }, some: true, wide: true},
	{name: "wait p99", cell: func(r Result) string { return number(r.WaitP99) }, some: true, wide: true},
	{name: "overtaken", cell: func(r Result) string { return count(r.Overtaken) }, some: true},
	{name: "wave p50", cell: func(r Result) string { return number(r.WaveP50) }, some: true},
	{name: "wave p99", cell: func(r Result) string { return number(r.WaveP99) }, some: true},
	{name: "req/s", cell: func(r Result) string { return number(&r.RPS) }, narrow: rateOf},
	{name: "MiB/s", cell: func(r Result) string { return number(r.MiBPerS) }, some: true},
	{name: "cpu us", cell: func(r Result) string { return number(r.CPUPerRequest) }},
	{called: ratioName, cell: func(r Result) string { return ratio(r.CPURatio) }, narrow: func(r Result) string { return shortRatio(r.CPURatio) }, some: true},
	{name: "allocs", cell: func(r Result) string { return number(&r.AllocsPerRequest) }},
	{name: "late ms", cell: func(r Result) string { return number(r.TimersLate) }, some: true},
	{name: "cpu us/MiB", cell: func(r Result) string { return number(r.CPUPerMiB) }, some: true, wide: true},
	{name: "waves", cell: func(r Result) string { return count(r.Waves) }, some: true, wide: true},
	{name: "wave dials", cell: func(r Result) string { return count(r.WaveDials) }, some: true, wide: true},
	{name: "goroutines", cell: func(r Result) string { return count(r.PeakGoroutines) }, some: true, wide: true},
	{name: "fds", cell: func(r Result) string { return count(r.PeakFDs) }, some: true, wide: true},
	{name: "MiB grown", cell: func(r Result) string { return mebibytes(r.PeakRSS) }, some: true, wide: true},
	{name: "reads+writes", cell: func(r Result) string { return number(r.Syscalls) }, some: true, wide: true},
}

// narrowColumns are those of a narrow table: what none of the rows has something to say on
// is left out.
func narrowColumns(rows []Result) []column {
	var shown []column
	for _, c := range columns {
		if c.narrow != nil {
			c.cell = c.narrow
		}
		c.once = c.name == "proto" || c.name == "size"
		if c.worth == nil {
			c.worth = func(r Result) bool { return c.cell(r) != nothing }
		}
		if !c.wide && slices.ContainsFunc(rows, c.worth) {
			shown = append(shown, c)
		}
	}
	return shown
}

// ratioName says whose CPU time the others are compared with.
func ratioName(rows []Result) string {
	to := ""
	for _, r := range rows {
		switch {
		case r.CPURatio == nil:
		case to == "" || to == r.CPURatioTo:
			to = r.CPURatioTo
		default:
			return "of the last"
		}
	}
	return "of " + to
}

// clientOf marks what isn't complete.
func clientOf(r Result) string {
	if r.Partial {
		return r.Client + " *"
	}
	return r.Client
}

func text(s string) string {
	if s == "" {
		return nothing
	}
	return s
}

func count(n *int64) string {
	if n == nil {
		return nothing
	}
	return strconv.FormatInt(*n, 10)
}

// notZero leaves out that there is nothing of what there shouldn't be.
func notZero(n *int64) string {
	if n != nil && *n == 0 {
		return nothing
	}
	return count(n)
}

func nonZero(n *int64) bool { return n != nil && *n != 0 }

// wastedMuch leaves out that few dials were wasted.
func wastedMuch(r Result) string {
	if r.WastedDials == nil || r.Dials == nil || *r.WastedDials < max(1, *r.Dials/10) {
		return nothing
	}
	return count(r.WastedDials)
}

// number keeps one decimal of small numbers, where it tells something.
func number(x *float64) string {
	switch {
	case x == nil:
		return nothing
	case *x < 100:
		return strconv.FormatFloat(*x, 'f', 1, 64)
	}
	return strconv.FormatFloat(*x, 'f', 0, 64)
}

// unlessWaves leaves to the waves what they say better.
func unlessWaves(r Result, x *float64) string {
	if r.Waves != nil {
		return nothing
	}
	return number(x)
}

// rateOf is of the loads whose rate is the client's doing.
func rateOf(r Result) string {
	if r.Waves != nil || r.Dialled != nil || r.Overtaken != nil || r.Load != "" {
		return nothing
	}
	return number(&r.RPS)
}

func mebibytes(n *int64) string {
	if n == nil {
		return nothing
	}
	return strconv.FormatFloat(float64(*n)/(1<<20), 'f', 1, 64)
}

// ratio is the median, with how far the rounds went from it.
func ratio(q *Ratio) string {
	if q == nil {
		return nothing
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", q.Median, q.Low, q.High)
}

// shortRatio says how far the round went that was furthest from the median.
func shortRatio(q *Ratio) string {
	if q == nil {
		return nothing
	}
	if q.Low == q.High { // one round says nothing of how far it may be off
		return fmt.Sprintf("%.2f", q.Median)
	}
	return fmt.Sprintf("%.2f ±%.2f", q.Median, max(q.Median-q.Low, q.High-q.Median))
}
