package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

const maxExamples = 12

// add counts, and keeps an example of what must not be.
func (r *run) add(t *tally, n *int, is bool, c *call, a *attempt, what string) {
	if !is {
		return
	}
	*n++
	if what == "" || len(t.examples) == maxExamples {
		return
	}
	s := fmt.Sprintf("%s %d (body %d, short %v, opted %v, %d attempts): %s", c.method, c.id, c.kind, c.short, c.opted, len(c.attempts), what)
	if a != nil {
		s += fmt.Sprintf("; attempt %d: %v", a.n, a.err)
	} else if c.err != nil {
		s += fmt.Sprintf("; %v", c.err)
	}
	for _, v := range r.notes.calls[c.id].arrivals {
		s += fmt.Sprintf("\n\tarrived, attempt %d, on %v stream %d, away %v %d: %v, executed %v", v.attempt, v.on.way, v.stream, v.on.away, v.on.last, v.fates, v.executed)
	}
	t.examples = append(t.examples, s)
}

func (t *tally) provables() (sum int) {
	for _, n := range t.provable {
		sum += n
	}
	return sum
}

var columns = []string{"client", "proto", "requests", "failed", "executed twice", "claimed unprocessed", "falsely",
	"provably unprocessed", "claimed", "retried", "excused", "avoidable failures"}

// A row is a run with its tally.
type row struct {
	*run
	*tally
}

func (w row) cells() []any {
	n := w.provables()
	claimed, falsely, of := any(w.claimed), any(w.falsely), any(n-w.unclaimed)
	retried, excused := any(w.excuses[excuseRetried]), any(n-w.excuses[excuseRetried]-w.unretried)
	if w.client.name == netHTTP.name { // it has no such claims, and its own retries are no attempts
		claimed, falsely, of, retried, excused = "-", "-", "-", "-", "-"
	}
	return []any{w.client.name, w.proto.name, w.requests, w.failed, w.twice, claimed, falsely, n, of, retried, excused, w.avoidable}
}

func table(rows []row) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, strings.Join(columns, "\t")+"\t")
	for _, w := range rows {
		if w.run == nil { // left out by -run
			continue
		}
		for _, c := range w.cells() {
			fmt.Fprintf(tw, "%v\t", c)
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
	return b.String()
}

// details tells what has no column.
func (w row) details() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, seed %d, %v: %d answered, %d with another status, %d claims of whole calls; ",
		w.client.name, w.proto.name, w.seed, w.took.Round(1e8), w.answered, w.otherwise, w.whole)
	for p, n := range w.provable {
		if n > 0 {
			fmt.Fprintf(&b, "%d %s, ", n, proofNames[p])
		}
	}
	fmt.Fprintf(&b, "%d may not have been heard", w.unheard)
	for _, e := range slices.Sorted(maps.Keys(w.excuses)) {
		fmt.Fprintf(&b, ", %d %s", w.excuses[e], e)
	}
	return b.String()
}

// fates lists how often each fate was met.
func (n *notes) list() string {
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(n.fates)) {
		parts = append(parts, fmt.Sprintf("%d %s", n.fates[f], f))
	}
	return strings.Join(parts, "; ")
}
