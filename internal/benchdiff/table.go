package benchdiff

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/connwise/bench"
	"example.com/connwise/internal/texttable"
)

// WriteJSON writes the comparison as JSON, indented, with a final newline.
func (c Comparison) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// WriteTable writes the comparison for people: what is worse, what is better, and how many
// figures are neither; with all, a line for each of these, too. The error is w's.
func (c Comparison) WriteTable(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A: %s\nB: %s\n", c.A, c.B)
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "The runs aren't alike: %s\n", n)
	}
	b.WriteString("\n")
	if rows := c.rows(all); len(rows) > 0 {
		if err := texttable.Write(&b, []string{"scenario", "proto", "client", "figure", "verdict", "A", "B", "B/A", "p"}, rows, 5); err != nil {
			return err
		}
		b.WriteString("\n")
	}
	c.summarize(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// String says what run it was.
func (s Side) String() string {
	t := s.Name
	if !s.Started.IsZero() {
		t += ", " + s.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if s.Machine.Version != "" {
		t += ", connwise " + s.Machine.Version + ", " + s.Machine.Go
	}
	return t
}

// rows are the table's: what is worse comes first, the reference's own last.
func (c Comparison) rows(all bool) [][]string {
	verdicts := []Verdict{Worse, Better}
	if all {
		verdicts = append(verdicts, Unknown, Same)
	}
	var rows [][]string
	for _, reference := range []bool{false, true} {
		for _, v := range verdicts {
			for _, ch := range c.Changes {
				if ch.Verdict == v && ch.Reference == reference {
					rows = append(rows, ch.row())
				}
			}
		}
	}
	return rows
}

func (ch Change) row() []string {
	what := strings.TrimSpace(ch.Metric + " " + ch.Unit)
	ratio := "-"
	if ch.Ratio != nil {
		ratio = ratioText(*ch.Ratio)
	}
	if ch.RelativeTo != "" {
		what += " *"
	}
	p := "-"
	if ch.P != nil {
		p = strconv.FormatFloat(*ch.P, 'f', 4, 64)
	}
	return []string{ch.scenario(), ch.Proto, ch.Client, what, string(ch.Verdict), number(ch.A), number(ch.B), ratio, p}
}

// scenario names it with what its rows differ by besides protocol and client.
func (ch Change) scenario() string {
	s := ch.Scenario
	if ch.Size != nil {
		s += fmt.Sprintf(" %d", *ch.Size)
	}
	if ch.Load != "" {
		s += " " + ch.Load
	}
	if ch.Proxy != "" {
		s += " " + ch.Proxy
	}
	return s
}

func ratioText(q bench.Ratio) string {
	return fmt.Sprintf("%.2f (%.2f-%.2f)", q.Median, q.Low, q.High)
}

// number keeps decimals where they tell something.
func number(x *float64) string {
	if x == nil {
		return "-"
	}
	if *x < 100 && *x != float64(int64(*x)) {
		return strconv.FormatFloat(*x, 'f', 1, 64)
	}
	return strconv.FormatFloat(*x, 'f', 0, 64)
}

// summarize says how many figures there were of each verdict, and what is in one report only.
func (c Comparison) summarize(b *strings.Builder) {
	few := c.count(func(ch Change) bool { return ch.Why == TooFew })
	fmt.Fprintf(b, "%d worse, %d better, %d without a difference, %d with too few rounds to tell.\n",
		c.Count(Worse), c.Count(Better), c.Count(Same), few)
	if n := c.count(func(ch Change) bool { return ch.Why == OtherMoved }); n > 0 {
		fmt.Fprintf(b, "%d that can't be told: %s's own changed in the other direction, and these not for sure.\n", n, reference)
	}
	if few > 0 {
		fmt.Fprintf(b, "To tell a change of one figure alone takes %d rounds in each run (--rounds).\n", c.RoundsFor())
	}
	if c.hasReference() {
		fmt.Fprintf(b, "* B/A and p are of the ratios to %s in the same round. Its own rows tell how the machine was, and aren't counted.\n", reference)
	}
	for _, s := range []struct {
		name string
		rows []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(s.rows) > 0 {
			fmt.Fprintf(b, "Only in %s: %s\n", s.name, strings.Join(s.rows, "; "))
		}
	}
	if len(c.Changes) == 0 {
		b.WriteString("The reports have no figure in common.\n")
	}
}

func (c Comparison) hasReference() bool {
	for _, ch := range c.Changes {
		if ch.RelativeTo != "" {
			return true
		}
	}
	return false
}
