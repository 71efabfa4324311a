package benchdiff

import (
	"math"
	"slices"

	"example.com/connwise/bench"
)

// reference is the client that others are compared with where it was run beside them.
var reference = bench.NetHTTP().Name

// A run is a report, with a way to find its rows.
type run struct {
	report bench.Report
	index  map[bench.RowKey]int
}

func runOf(r bench.Report) run { return run{r, index(r)} }

// referenceOf is the reference's row beside the one of key; nil if there is none.
func (r run) referenceOf(key bench.RowKey) *bench.Result {
	key.Client = reference
	if i, ok := r.index[key]; ok {
		return &r.report.Results[i]
	}
	return nil
}

// compareRows measures each figure that both rows have; decide gives the verdicts.
func compareRows(ra, rb run, key bench.RowKey, a, b *bench.Result, o Options) []Change {
	toA, toB := ra.referenceOf(key), rb.referenceOf(key)
	if key.Client == reference || toA == nil || toB == nil {
		toA, toB = nil, nil
	}
	var changes []Change
	for _, m := range metrics {
		ch := Change{
			Scenario: a.Scenario, Proto: a.Proto, Client: a.Client, Size: a.Size, Load: a.Load, Proxy: a.Proxy,
			Metric: m.name, Unit: m.unit, A: m.row(a), B: m.row(b),
			Reference: key.Client == reference,
		}
		if ch.A == nil || ch.B == nil {
			continue
		}
		if m.timed && toA != nil {
			ch.RelativeTo = reference
			ch.measure(m, m.rounds(a, toA), m.rounds(b, toB), o)
			ch.otherMoved = moved(m, toA, toB, o) == opposite(ch.Verdict) && moved(m, a, b, o) != ch.Verdict
		} else {
			ch.measure(m, m.rounds(a, nil), m.rounds(b, nil), o)
		}
		if m.perRequest {
			ch.agree(m, a, b, o)
		}
		changes = append(changes, ch)
	}
	return changes
}

// measure sets what the rounds say, and a first verdict: in which direction they differ, if at
// all. Whether that is more than chance is decide's to say.
func (ch *Change) measure(m metric, a, b []float64, o Options) {
	ch.RoundsA, ch.RoundsB = len(a), len(b)
	if m.zero && *ch.A == 0 && *ch.B == 0 {
		ch.Verdict = Same
		return
	}
	if m.zero && *ch.B > *ch.A && (*ch.A == 0 || m.round == nil) { // one is enough to show that it isn't zero
		ch.Verdict = Worse
		return
	}
	if len(a) == 0 || len(b) == 0 {
		ch.Verdict, ch.Why = Unknown, TooFew
		return
	}
	if least, most := slices.Min(a), slices.Max(a); least == most && slices.Min(b) == least && slices.Max(b) == most {
		ch.Verdict = Same // all rounds of both, and nothing is left to chance
		return
	}
	ch.P = new(pValue(a, b))
	ch.Ratio = ratioOf(a, b, o.Alpha)
	ch.Verdict = direction(a, b, ch.Ratio, m.more, o.Least)
}

// moved says in which direction a figure by itself has changed for sure; Same if it hasn't.
func moved(m metric, a, b *bench.Result, o Options) Verdict {
	ch := Change{A: m.row(a), B: m.row(b)}
	if ch.A == nil || ch.B == nil {
		return Same
	}
	ch.measure(m, m.rounds(a, nil), m.rounds(b, nil), o)
	if ch.P == nil || *ch.P > o.Alpha {
		return Same
	}
	return ch.Verdict
}

// opposite is the other direction; Unknown of what is none.
func opposite(v Verdict) Verdict {
	switch v {
	case Better:
		return Worse
	case Worse:
		return Better
	}
	return Unknown
}

// direction says which way B's rounds lie from A's, if by more than the least that counts.
func direction(a, b []float64, ratio *bench.Ratio, more bool, least float64) Verdict {
	up := 0.0
	if ratio != nil {
		if math.Abs(math.Log(ratio.Median)) < math.Log1p(least) {
			return Same
		}
		up = ratio.Median - 1
	}
	if ratio == nil || up == 0 {
		up = dominance(a, b)
	}
	switch {
	case up == 0:
		return Same
	case up > 0 == more:
		return Better
	}
	return Worse
}

// agree lets a count change only if its share of the requests does, too, in the same direction.
func (ch *Change) agree(m metric, a, b *bench.Result, o Options) {
	if ch.P == nil {
		return
	}
	per := func(r *bench.Result) []float64 {
		xs := m.rounds(r, nil)
		for i, n := range m.requests(r) {
			xs[i] /= n
		}
		return xs
	}
	other := Change{A: ch.A, B: ch.B}
	other.measure(m, per(a), per(b), o)
	if other.Verdict != ch.Verdict {
		ch.Verdict = Same
	}
	if other.P != nil && *other.P > *ch.P {
		ch.P, ch.Ratio = other.P, other.Ratio
	}
}
