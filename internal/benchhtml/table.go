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
	{head{"damaged", "", "answers and POSTs whose body was another than the one sent"}, func(r bench.Result) string { return count(r.Damaged) }},
	{head{"violations", "", "what the server has seen of the client against RFC 9113"}, func(r bench.Result) string { return unlessZero(r.Violations) }},
	{head{"unmade", "", "calls that were due and never made, as more were due than could be taken"}, func(r bench.Result) string { return unlessZero(r.Unmade) }},
	{head{"cancelled", "", "calls that their caller ended before the answer was read"}, func(r bench.Result) string { return count(r.Cancelled) }},
	{head{"dials", "", "connections that the server accepted"}, func(r bench.Result) string { return count(r.Dials) }},
	{head{"wasted", "dials", "connections that never carried a request"}, func(r bench.Result) string { return count(r.WastedDials) }},
	{head{"peak", "conns", "most connections open at one time"}, func(r bench.Result) string { return count(r.PeakConns) }},
	{head{"dialled", "calls", "calls that got a connection opened for a call"}, func(r bench.Result) string { return count(r.Dialled) }},
	{head{"left open", "conns", "connections still open when all calls had ended and the idle ones were closed"}, func(r bench.Result) string { return count(r.LeftOpen) }},
	{head{"p50", "ms", "median latency of the calls with a 2xx answer"}, func(r bench.Result) string { return millis(r.P50) }},
	{head{"p99", "ms", "99th percentile of the latency"}, func(r bench.Result) string { return millis(r.P99) }},
	{head{"p99.9", "ms", "99.9th percentile of the latency"}, func(r bench.Result) string { return millis(r.P999) }},
	{head{"wait p50", "ms", "median latency without the time of an answer: the wait for a place"}, func(r bench.Result) string { return millis(r.WaitP50) }},
	{head{"wait p99", "ms", "99th percentile of the wait for a place"}, func(r bench.Result) string { return millis(r.WaitP99) }},
	{head{"overtaken", "", "calls answered after one that had come later"}, func(r bench.Result) string { return count(r.Overtaken) }},
	{head{"rate", "req/s", "calls made in a second"}, func(r bench.Result) string { return fixed(&r.RPS, 0) }},
	{head{"bodies", "MiB/s", "how much of bodies was moved in a second"}, func(r bench.Result) string { return fixed(r.MiBPerS, 1) }},
	{head{"CPU", "µs/req", "the process's CPU time per request, user and system"}, func(r bench.Result) string { return fixed(r.CPUPerRequest, 1) }},
	{head{"CPU", "µs/MiB", "the process's CPU time per MiB of bodies"}, func(r bench.Result) string { return fixed(r.CPUPerMiB, 0) }},
	{head{"CPU ratio", "", "CPU per request of the reference's, round by round: median, least and greatest"}, func(r bench.Result) string { return ratio(r.CPURatio) }},
	{head{"allocs", "per req", "allocations per request"}, func(r bench.Result) string { return fixed(&r.AllocsPerRequest, 1) }},
	{head{"reads and writes", "per req", "calls of read(2) and write(2) per request; others, as connwise's of recvfrom and sendmsg, the system doesn't count, so that clients can't be compared by it"}, func(r bench.Result) string { return fixed(r.Syscalls, 2) }},
	{head{"goroutines", "peak", "most goroutines at one time"}, func(r bench.Result) string { return count(r.PeakGoroutines) }},
	{head{"fds", "peak", "most file descriptors at one time"}, func(r bench.Result) string { return count(r.PeakFDs) }},
	{head{"memory", "MiB more", "how much the resident memory grew"}, func(r bench.Result) string { return mebibytes(r.PeakRSS) }},
	{head{"timers", "ms late", "the longest that a timer of this process was late, as the machine was busy"}, func(r bench.Result) string { return fixed(r.TimersLate, 1) }},
	{head{"waves", "", "full waves"}, func(r bench.Result) string { return count(r.Waves) }},
	{head{"wave p50", "ms", "median over the waves of a wave's p50"}, func(r bench.Result) string { return millis(r.WaveP50) }},
	{head{"wave p99", "ms", "median over the waves of a wave's p99"}, func(r bench.Result) string { return millis(r.WaveP99) }},
	{head{"wave dials", "", "median over the waves of a wave's connections"}, func(r bench.Result) string { return count(r.WaveDials) }},
}

func unlessZero(n int64) string {
	if n == 0 {
		return none
	}
	return count(&n)
}

func mebibytes(n *int64) string {
	if n == nil {
		return none
	}
	return fixed(new(float64(*n)/(1<<20)), 1)
}

// clientOf marks rows that aren't complete.
func clientOf(r bench.Result) string {
	if r.Partial {
		return r.Client + " *"
	}
	return r.Client
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
				row := tableRow{Client: clientOf(r), Mark: look.of(r.Client).mark()}
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
