package benchdiff

import (
	"cmp"
	"slices"
)

// decide turns verdicts that are a direction only into Same where they may be chance, and into
// Unknown where more rounds might have shown more. The reference's rows are by themselves: what
// happens to them is the machine's.
func decide(changes []Change, o Options) {
	for _, reference := range []bool{false, true} {
		var tested []*Change
		for i := range changes {
			if ch := &changes[i]; ch.Reference == reference && ch.P != nil {
				tested = append(tested, ch)
			}
		}
		limit := levelOf(tested, o.Alpha)
		for _, ch := range tested {
			ch.settle(limit, o.Alpha)
		}
	}
}

// levelOf is the greatest p that still counts: with it, at most a share alpha of what counts is
// to be chance (Benjamini and Hochberg). Below zero: none does.
func levelOf(tested []*Change, alpha float64) float64 {
	sorted := slices.SortedFunc(slices.Values(tested), func(a, b *Change) int { return cmp.Compare(*a.P, *b.P) })
	for i := len(sorted) - 1; i >= 0; i-- {
		if *sorted[i].P <= alpha*float64(i+1)/float64(len(sorted)) {
			return *sorted[i].P
		}
	}
	return -1
}

// settle gives the verdict: limit is levelOf's.
func (ch *Change) settle(limit, alpha float64) {
	least := leastP(ch.RoundsA, ch.RoundsB)
	switch {
	case least > alpha:
		ch.Verdict, ch.Why = Unknown, TooFew
	case ch.Verdict == Same:
		return
	case *ch.P <= limit && ch.otherMoved:
		ch.Verdict, ch.Why = Unknown, OtherMoved
	case *ch.P <= limit:
		return
	case *ch.P <= least*1.001: // as far apart as so few rounds can be
		ch.Verdict, ch.Why = Unknown, TooFew
	default:
		ch.Verdict = Same
	}
}

// RoundsFor is how many rounds each run needs at least to show that one figure alone has
// changed, of as many as were compared.
func (c Comparison) RoundsFor() int {
	tested := 0
	for _, ch := range c.Changes {
		if ch.P != nil && !ch.Reference {
			tested++
		}
	}
	n := 2
	for leastP(n, n) > c.Alpha/float64(max(tested, 1)) {
		n++
	}
	return n
}
