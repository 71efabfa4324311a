package bench

import (
	"fmt"
	"io"
	"strconv"

	"example.com/connwise/internal/texttable"
)

var columns = []string{
	"scenario", "proto", "client", "requests", "failed", "avoidable", "twice", "lost",
	"dials", "p50 us", "p99 us", "p99.9 us", "req/s", "cpu us/req", "allocs/req",
}

// WriteTable writes the report as a table for people, with a line on each row
// that had errors. The error is w's.
func (r Report) WriteTable(w io.Writer) error {
	rows := make([][]string, len(r.Results))
	for i, row := range r.Results {
		rows[i] = row.cells()
	}
	if err := texttable.Write(w, columns, rows, 3); err != nil {
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

func (r Result) cells() []string {
	return []string{
		r.Scenario, r.Proto, r.Client, count(&r.Requests), count(&r.Failed),
		count(r.Avoidable), count(r.ExecutedTwice), count(r.Lost), count(r.Dials),
		number(r.P50), number(r.P99), number(r.P999), number(&r.RPS),
		number(r.CPUPerRequest), number(&r.AllocsPerRequest),
	}
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
