package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/connwise/internal/texttable"
)

// WriteTable writes the report for people, within about 140 columns of a terminal: a table
// for each scenario, without what none of its rows has something to say on, and a line on
// each row that had errors, which may be longer. The error is w's.
func (r Report) WriteTable(w io.Writer) error {
	for i, group := range r.groups() {
		title := group[0].title() + "\n"
		if i > 0 {
			title = "\n" + title
		}
		if _, err := io.WriteString(w, title); err != nil {
			return err
		}
		if err := writeRows(w, group, narrowColumns(group), 2); err != nil {
			return err
		}
	}
	if err := r.writeNone(w); err != nil {
		return err
	}
	return r.writeRemarks(w)
}

// WriteWideTable is WriteTable with all columns and in one table, a line for each row. The
// error is w's.
func (r Report) WriteWideTable(w io.Writer) error {
	shown := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return c.some && !slices.ContainsFunc(r.Results, func(row Result) bool { return c.cell(row) != nothing })
	})
	if err := writeRows(w, r.Results, shown, 3); err != nil {
		return err
	}
	return r.writeRemarks(w)
}

// groups are the rows that a table of their own is for: those of one scenario which follow
// each other.
func (r Report) groups() [][]Result {
	var groups [][]Result
	for _, row := range r.Results {
		if n := len(groups); n > 0 && groups[n-1][0].title() == row.title() {
			groups[n-1] = append(groups[n-1], row)
		} else {
			groups = append(groups, []Result{row})
		}
	}
	return groups
}

// title is the scenario with what else was particular.
func (r Result) title() string {
	var more []string
	if r.Load != "" {
		more = append(more, r.Load)
	}
	if r.Proxy != "" {
		more = append(more, "behind "+r.Proxy)
	}
	if len(more) == 0 {
		return r.Scenario
	}
	return r.Scenario + " (" + strings.Join(more, ", ") + ")"
}

// writeRows writes a table, of which the first columns are text.
func writeRows(w io.Writer, results []Result, shown []column, left int) error {
	names := make([]string, len(shown))
	rows := make([][]string, len(results))
	for i, c := range shown {
		if names[i] = c.name; c.called != nil {
			names[i] = c.called(results)
		}
		last := ""
		for k, row := range results {
			cell := c.cell(row)
			if c.once && k > 0 && cell == last {
				cell = ""
			} else {
				last = cell
			}
			rows[k] = append(rows[k], cell)
		}
	}
	return texttable.Write(w, names, rows, left)
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// writeRemarks says of each row what its figures can't, and which there aren't.
func (r Report) writeRemarks(w io.Writer) error {
	for _, row := range r.Results {
		name := row.Key().String() + ": "
		var err error
		if row.Partial {
			_, err = fmt.Fprintf(w, "%sended early, the figures are of %s\n", name, rounds(len(row.Samples)))
		}
		if row.Unmade > 0 && err == nil {
			_, err = fmt.Fprintf(w, "%s%d calls were due and never made: more than it could take\n", name, row.Unmade)
		}
		if row.FirstError != "" && err == nil {
			_, err = fmt.Fprintf(w, "%s%s, %d answers not 2xx; first: %s\n", name, failures(row), row.NotOK, row.FirstError)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range r.Clients {
		if c.Absent == "" || c.Absent == everywhere { // then nobody looks for it
			continue
		}
		if _, err := fmt.Fprintf(w, "%s has no part in: %s\n", c.Name, c.Absent); err != nil {
			return err
		}
	}
	for _, s := range r.Skipped {
		if _, err := fmt.Fprintf(w, "%s %s behind %s: not run, as %s\n", s.Scenario, s.Proto, s.Proxy, s.Reason); err != nil {
			return err
		}
	}
	return nil
}

// failures says how many calls failed, and of how many the peer can show what it did.
func failures(r Result) string {
	if r.Avoidable == nil || r.Failed == 0 {
		return fmt.Sprintf("%d failed", r.Failed)
	}
	return fmt.Sprintf("%d failed (%d of them executed by the server, %d avoidable)", r.Failed, r.Failed-*r.Avoidable, *r.Avoidable)
}

// writeNone says that nothing was executed twice or lost, where that is known of all rows: a
// narrow table has no columns for it then.
func (r Report) writeNone(w io.Writer) error {
	known := slices.DeleteFunc(slices.Clone(r.Results), func(row Result) bool { return row.ExecutedTwice == nil })
	if len(known) == 0 || slices.ContainsFunc(known, func(row Result) bool { return *row.ExecutedTwice+*row.Lost > 0 }) {
		return nil
	}
	_, err := fmt.Fprintln(w, "executed twice 0, lost 0: in all rows")
	return err
}
