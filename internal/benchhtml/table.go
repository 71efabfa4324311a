package benchhtml

import (
	"html/template"
	"slices"

	"example.com/connwise/bench"
)

// A table has all figures of the report; columns in which no row has one are left out.
type table struct {
	Heads  []head
	Blocks []block
}

// A head is a column's: its short name, its unit, and what it means.
type head struct{ Name, Unit, About string }

// A block is a group's rows.
type block struct {
	Name string
	Rows []tableRow
}

// A tableRow is a client's.
type tableRow struct {
	Client string
	Mark   template.HTML
	Cells  []string
}

// A column is one of the table's.
type column struct {
	head
	cell func(bench.Result) string
}

var columns = []column{
	{head{"requests", "", "calls made"}, func(r bench.Result) string { return count(&r.Requests) }},
	{head{"failed", "", "calls that returned an error"}, func(r bench.Result) string { return count(&r.Failed) }},
	{head{"avoidable", "", "failed calls that the server never executed"}, func(r bench.Result) string { return count(r.Avoidable) }},
	{head{"twice", "", "calls executed more than once, GETs left out"}, func(r bench.Result) string { return count(r.ExecutedTwice) }},
	{head{"lost", "", "calls answered with success that the server never executed"}, func(r bench.Result) string { return count(r.Lost) }},
	{head{"dials", "", "connections that the server accepted"}, func(r bench.Result) string { return count(r.Dials) }},
	{head{"wasted", "dials", "connections that never carried a request"}, func(r bench.Result) string { return count(r.WastedDials) }},
	{head{"peak", "conns", "most connections open at one time"}, func(r bench.Result) string { return count(r.PeakConns) }},
	{head{"dialled", "calls", "calls that got a connection opened for a call"}, func(r bench.Result) string { return count(r.Dialled) }},
	{head{"p50", "ms", "median latency of the calls with a 2xx answer"}, func(r bench.Result) string { return millis(r.P50) }},
	{head{"p99", "ms", "99th percentile of the latency"}, func(r bench.Result) string { return millis(r.P99) }},
	{head{"p99.9", "ms", "99.9th percentile of the latency"}, func(r bench.Result) string { return millis(r.P999) }},
	{head{"rate", "req/s", "calls made in a second"}, func(r bench.Result) string { return fixed(&r.RPS, 0) }},
	{head{"CPU", "µs/req", "the process's CPU time per request, user and system"}, func(r bench.Result) string { return fixed(r.CPUPerRequest, 1) }},
	{head{"CPU ratio", "", "CPU per request of the reference's, round by round: median, least and greatest"}, func(r bench.Result) string { return ratio(r.CPURatio) }},
	{head{"allocs", "per req", "allocations per request"}, func(r bench.Result) string { return fixed(&r.AllocsPerRequest, 1) }},
	{head{"syscalls", "per req", "system calls that read or wrote, per request"}, func(r bench.Result) string { return fixed(r.Syscalls, 2) }},
	{head{"goroutines", "peak", "most goroutines at one time"}, func(r bench.Result) string { return count(r.PeakGoroutines) }},
	{head{"fds", "peak", "most file descriptors at one time"}, func(r bench.Result) string { return count(r.PeakFDs) }},
	{head{"memory", "MiB more", "how much the resident memory grew"}, func(r bench.Result) string { return mebibytes(r.PeakRSS) }},
	{head{"waves", "", "full waves"}, func(r bench.Result) string { return count(r.Waves) }},
	{head{"wave p50", "ms", "median over the waves of a wave's p50"}, func(r bench.Result) string { return millis(r.WaveP50) }},
	{head{"wave p99", "ms", "median over the waves of a wave's p99"}, func(r bench.Result) string { return millis(r.WaveP99) }},
	{head{"wave dials", "", "median over the waves of a wave's connections"}, func(r bench.Result) string { return count(r.WaveDials) }},
}

func mebibytes(n *int64) string {
	if n == nil {
		return none
	}
	return fixed(new(float64(*n)/(1<<20)), 1)
}

func tableOf(rep bench.Report, look looks) table {
	var t table
	used := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !slices.ContainsFunc(rep.Results, func(r bench.Result) bool { return c.cell(r) != none })
	})
	for _, c := range used {
		t.Heads = append(t.Heads, c.head)
	}
	for _, s := range scenariosOf(rep) {
		for _, g := range s.groups {
			b := block{Name: s.name + ", " + g.name()}
			for _, r := range g.rows {
				row := tableRow{Client: r.Client, Mark: look.of(r.Client).mark()}
				for _, c := range used {
					row.Cells = append(row.Cells, c.cell(r))
				}
				b.Rows = append(b.Rows, row)
			}
			t.Blocks = append(t.Blocks, b)
		}
	}
	return t
}
