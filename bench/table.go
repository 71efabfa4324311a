package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"example.com/connwise/internal/texttable"
)

// A column is one of the table.
type column struct {
	name string
	cell func(Result) string // "-": nothing to say
	some bool                // left out where no row has something to say
}

var columns = []column{
	{name: "scenario", cell: func(r Result) string { return r.Scenario }},
	{name: "proto", cell: func(r Result) string { return r.Proto }},
	{name: "client", cell: func(r Result) string { return r.Client }},
	{name: "size", cell: func(r Result) string { return count(r.Size) }, some: true},
	{name: "requests", cell: func(r Result) string { return count(&r.Requests) }},
	{name: "failed", cell: func(r Result) string { return count(&r.Failed) }},
	{name: "avoidable", cell: func(r Result) string { return count(r.Avoidable) }},
	{name: "twice", cell: func(r Result) string { return count(r.ExecutedTwice) }},
	{name: "lost", cell: func(r Result) string { return count(r.Lost) }},
	{name: "dials", cell: func(r Result) string { return count(r.Dials) }},
	{name: "wasted", cell: func(r Result) string { return count(r.WastedDials) }},
	{name: "peak", cell: func(r Result) string { return count(r.PeakConns) }},
	{name: "dialled", cell: func(r Result) string { return count(r.Dialled) }, some: true},
	{name: "p50 us", cell: func(r Result) string { return number(r.P50) }},
	{name: "p99 us", cell: func(r Result) string { return number(r.P99) }},
	{name: "p99.9 us", cell: func(r Result) string { return number(r.P999) }},
	{name: "req/s", cell: func(r Result) string { return number(&r.RPS) }},
	{name: "cpu us/req", cell: func(r Result) string { return number(r.CPUPerRequest) }},
	{name: "of net/http", cell: func(r Result) string { return ratio(r.CPURatio) }, some: true},
	{name: "allocs/req", cell: func(r Result) string { return number(&r.AllocsPerRequest) }},
	{name: "waves", cell: func(r Result) string { return count(r.Waves) }, some: true},
	{name: "wave p50", cell: func(r Result) string { return number(r.WaveP50) }, some: true},
	{name: "wave p99", cell: func(r Result) string { return number(r.WaveP99) }, some: true},
	{name: "wave dials", cell: func(r Result) string { return count(r.WaveDials) }, some: true},
}

// WriteTable writes the report as a table for people, with a line on each row
// that had errors. The error is w's.
func (r Report) WriteTable(w io.Writer) error {
	var names []string
	rows := make([][]string, len(r.Results))
	for _, c := range columns {
		if c.some && !slices.ContainsFunc(r.Results, func(row Result) bool { return c.cell(row) != "-" }) {
			continue
		}
		names = append(names, c.name)
		for i, row := range r.Results {
			rows[i] = append(rows[i], c.cell(row))
		}
	}
	if err := texttable.Write(w, names, rows, 3); err != nil {
		return err
	}
	return r.writeErrors(w)
}

func (r Report) writeErrors(w io.Writer) error {
	for _, row := range r.Results {
		if row.FirstError == "" {
			continue
		}
		_, err := fmt.Fprintf(w, "%s %s %s: %d failed, %d answers not 2xx; first: %s\n",
			row.Scenario, row.Proto, row.Client, row.Failed, row.NotOK, row.FirstError)
		if err != nil {
			return err
		}
	}
	return nil
}

func count(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// number keeps one decimal of small numbers, where it tells something.
func number(x *float64) string {
	switch {
	case x == nil:
		return "-"
	case *x < 100:
		return strconv.FormatFloat(*x, 'f', 1, 64)
	}
	return strconv.FormatFloat(*x, 'f', 0, 64)
}

// ratio is the median, with how far the rounds went from it.
func ratio(q *Ratio) string {
	if q == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", q.Median, q.Low, q.High)
}
