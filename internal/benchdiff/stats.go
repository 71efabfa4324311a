package benchdiff

import (
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"

	"example.com/connwise/bench"
)

// pValue is the Mann-Whitney U test's, of both sides.
func pValue(a, b []float64) float64 {
	t := benchmath.DefaultThresholds
	sa, sb := benchmath.NewSample(slices.Clone(a), &t), benchmath.NewSample(slices.Clone(b), &t)
	return benchmath.AssumeNothing.Compare(sa, sb).P
}

// leastP is the least p that rounds of these numbers can give: when all of one side are above
// all of the other.
func leastP(n, m int) float64 {
	ways := 1.0 // to choose n of n+m
	for i := 1; i <= n; i++ {
		ways *= float64(m+i) / float64(i)
	}
	return min(1, 2/ways)
}

// ratioOf is b over a: the median of the ratios of all pairs (Hodges and Lehmann, 1963, of the
// logarithms), and the interval that the U test gives for it. Nil where a figure is zero.
func ratioOf(a, b []float64, alpha float64) *bench.Ratio {
	qs := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			q := y / x
			if x == 0 || y == 0 || math.IsInf(q, 0) || q == 0 {
				return nil
			}
			qs = append(qs, q)
		}
	}
	slices.Sort(qs)
	k := margin(len(a), len(b), alpha)
	low, high := qs[(len(qs)-1)/2], qs[len(qs)/2]
	return &bench.Ratio{Median: low + (high-low)/2, Low: qs[k], High: qs[len(qs)-1-k]}
}

// exactPairs is up to how many pairs of rounds the test's distribution is computed; with more
// it is as good as normal, and computing it takes long.
const exactPairs = 400

// margin is how many of the pairs at either end are outside of the interval: the
// greatest U that the test doesn't take for chance, so that the two agree.
func margin(n, m int, alpha float64) int {
	of := marginOf{n, m, alpha}
	if k, ok := margins.Load(of); ok {
		return k.(int)
	}
	k := approx(n, m, alpha)
	if n*m <= exactPairs {
		k = exact(n, m, alpha)
	}
	k = max(0, min(k, (n*m-1)/2))
	margins.Store(of, k)
	return k
}

// margins keeps the few that a comparison needs, as all of its rows have the same rounds.
var margins sync.Map

type marginOf struct {
	n, m  int
	alpha float64
}

func exact(n, m int, alpha float64) int {
	u := stats.UDist{N1: n, N2: m}
	most := n * m / 2
	return sort.Search(most, func(k int) bool { return 2*u.CDF(float64(k+1)) > alpha })
}

func approx(n, m int, alpha float64) int {
	pairs := float64(n) * float64(m)
	z := stats.InvCDF(stats.StdNormal)(1 - alpha/2)
	return int(pairs/2 - 0.5 - z*math.Sqrt(pairs*float64(n+m+1)/12))
}

// dominance is above zero if b's rounds tend to be above a's.
func dominance(a, b []float64) float64 {
	d := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				d++
			case y < x:
				d--
			}
		}
	}
	return d
}
