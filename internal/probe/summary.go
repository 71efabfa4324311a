package probe

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// summarize puts endings into a few numbers.
func summarize(all []ending, http2 bool) *Endings {
	sum := &Endings{Conns: len(all)}
	ways := make(map[string]int)
	var first, last time.Time
	for _, e := range all {
		if !e.ended() {
			if open := Millis(e.openFor); sum.OpenFor == 0 || open < sum.OpenFor {
				sum.OpenFor = open
			}
			continue
		}
		sum.Ages = append(sum.Ages, Millis(e.age()))
		sum.Last = max(sum.Last, Millis(e.closed.Sub(e.at)))
		ways[e.how()]++
		if first.IsZero() || e.at.Before(first) {
			first = e.at
		}
		if e.at.After(last) {
			last = e.at
		}
		if http2 && (sum.GoAway == "" || len(e.goAways) > len(sum.GoAways)) {
			sum.GoAway, sum.GoAways = goAwayStyle(e.goAways), e.goAways
		}
	}
	sum.moments = last.Sub(first)
	sum.How = sorted(ways)
	if sum.Ended = len(sum.Ages); sum.Ended > 0 {
		slices.Sort(sum.Ages)
		sum.Min, sum.Median, sum.Max = sum.Ages[0], median(sum.Ages), sum.Ages[sum.Ended-1]
	}
	return sum
}

// sorted has the most frequent first.
func sorted(ways map[string]int) []How {
	var list []How
	for _, words := range slices.Sorted(maps.Keys(ways)) {
		list = append(list, How{words, ways[words]})
	}
	slices.SortStableFunc(list, func(a, b How) int { return cmp.Compare(b.Conns, a.Conns) })
	return list
}

// median is of ascending values, at least one.
func median(ms []Millis) Millis {
	n := len(ms)
	return (ms[(n-1)/2] + ms[n/2]) / 2
}

// sameMoment tells whether what ended the connections was a moment rather than their ages.
func (s *Endings) sameMoment() bool {
	spread := (s.Max - s.Min).Duration()
	return s.Ended > 2 && spread > 50*time.Millisecond && s.moments < spread/4
}
