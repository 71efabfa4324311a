package benchdiff

import (
	"slices"
	"time"

	"example.com/connwise/bench"
)

// Options say how sure a comparison has to be.
type Options struct {
	// Alpha is the share of the differences told that may be chance. Zero: 0.05.
	Alpha float64
	// Least is the least change that counts, as a share of the figure. Zero: every one.
	Least float64
	// Clients are those to compare. Empty: all.
	Clients []string
}

// A Verdict says how B's figure is beside A's.
type Verdict string

// What a verdict can be.
const (
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Same    Verdict = "same"    // no difference was seen
	Unknown Verdict = "unknown" // it can't be told: Change.Why
)

// A Reason is why a verdict is Unknown.
type Reason string

const (
	// TooFew: there aren't enough rounds to tell any difference of so many figures from chance.
	TooFew Reason = "too few rounds"
	// OtherMoved: the client that the figure is relative to changed in the other direction, and the
	// figure itself didn't change for sure, so that the ratio tells of the other client.
	OtherMoved Reason = "the reference changed"
)

// A Side is one of the two runs.
type Side struct {
	Name    string        `json:"name"`
	Started time.Time     `json:"started"`
	Command string        `json:"command,omitempty"`
	Machine bench.Machine `json:"machine"`
}

// A Comparison is what Compare found.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Alpha and Least are the options'.
	Alpha float64 `json:"alpha"`
	Least float64 `json:"least"`
	// Notes say in what else the runs differ.
	Notes   []string `json:"notes"`
	Changes []Change `json:"changes"`
	// OnlyA and OnlyB name the rows that one report alone has.
	OnlyA []string `json:"only_a"`
	OnlyB []string `json:"only_b"`
}

// A Change is a figure of a row in both runs.
type Change struct {
	Scenario string `json:"scenario"`
	Proto    string `json:"proto"`
	Client   string `json:"client"`
	Size     *int64 `json:"size,omitempty"`
	Load     string `json:"load,omitempty"`
	Proxy    string `json:"proxy,omitempty"`

	// Metric is the figure's name, and Unit its unit.
	Metric string `json:"metric"`
	Unit   string `json:"unit,omitempty"`
	// A and B are the rows' figures, of all rounds taken together; nil if one is missing.
	A *float64 `json:"a"`
	B *float64 `json:"b"`
	// RelativeTo is the client whose figure in the same round the rounds' figures were
	// divided by before they were compared; empty: none.
	RelativeTo string `json:"relative_to,omitempty"`
	// Ratio is B over A: the median over all pairs of rounds, and the interval in which it
	// is at a confidence of 1 - Alpha, for this figure alone. With rounds too few for one
	// it has the least and the greatest pair. Nil where a figure is zero.
	Ratio *bench.Ratio `json:"ratio"`
	// P is the chance of rounds as far apart as these if nothing has changed; nil if
	// nothing was tested. RoundsA and RoundsB are how many there were.
	P       *float64 `json:"p"`
	RoundsA int      `json:"rounds_a"`
	RoundsB int      `json:"rounds_b"`

	Verdict Verdict `json:"verdict"`
	// Why is set with Unknown.
	Why Reason `json:"why,omitempty"`
	// Reference says that the row is the client with which others are compared: its changes
	// are the machine's, or Go's, and no one's fault.
	Reference bool `json:"reference"`

	otherMoved bool // see OtherMoved
}

// Compare compares what the reports have in common. nameA and nameB are what to call them.
func Compare(a, b bench.Report, nameA, nameB string, o Options) Comparison {
	if o.Alpha == 0 {
		o.Alpha = 0.05
	}
	c := Comparison{
		A: side(a, nameA), B: side(b, nameB), Alpha: o.Alpha, Least: o.Least,
		Notes: notes(a, b), Changes: []Change{}, OnlyA: onlyIn(a, b, o), OnlyB: onlyIn(b, a, o),
	}
	inB := index(b)
	ra, rb := runOf(a), runOf(b)
	for i := range a.Results {
		key := a.Results[i].Key()
		if k, ok := inB[key]; ok && o.has(key.Client) {
			c.Changes = append(c.Changes, compareRows(ra, rb, key, &a.Results[i], &b.Results[k], o)...)
		}
	}
	decide(c.Changes, o)
	return c
}

func side(r bench.Report, name string) Side {
	return Side{Name: name, Started: r.Started, Command: r.Command, Machine: r.Machine}
}

func (o Options) has(client string) bool {
	return len(o.Clients) == 0 || slices.Contains(o.Clients, client)
}

func index(r bench.Report) map[bench.RowKey]int {
	m := make(map[bench.RowKey]int, len(r.Results))
	for i, row := range r.Results {
		m[row.Key()] = i
	}
	return m
}

func onlyIn(a, b bench.Report, o Options) []string {
	list := []string{}
	inB := index(b)
	for _, row := range a.Results {
		if _, ok := inB[row.Key()]; !ok && o.has(row.Client) {
			list = append(list, row.Key().String())
		}
	}
	return list
}

// Count counts the verdicts of one kind; the reference's rows don't count.
func (c Comparison) Count(v Verdict) int {
	return c.count(func(ch Change) bool { return ch.Verdict == v })
}

func (c Comparison) count(is func(Change) bool) int {
	n := 0
	for _, ch := range c.Changes {
		if !ch.Reference && is(ch) {
			n++
		}
	}
	return n
}
