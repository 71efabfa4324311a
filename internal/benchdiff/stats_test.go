package benchdiff

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLeastP has the values of the tables of the U test.
func TestLeastP(t *testing.T) {
	for _, tt := range []struct {
		n, m int
		want float64
	}{{1, 1, 1}, {3, 3, 0.1}, {4, 4, 0.028571428}, {5, 5, 0.007936508}, {3, 6, 0.023809524}, {100, 100, 0}} {
		if got := leastP(tt.n, tt.m); math.Abs(got-tt.want) > 1e-8 {
			t.Errorf("%d and %d rounds: %v, want %v", tt.n, tt.m, got, tt.want)
		}
		if got := pValue(ramp(1, tt.n), ramp(1000, tt.m)); math.Abs(got-tt.want) > 1e-8 && tt.n < 50 {
			t.Errorf("%d and %d rounds far apart: p %v, want %v", tt.n, tt.m, got, tt.want)
		}
	}
}

func ramp(from float64, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = from + float64(i)
	}
	return xs
}

// TestIntervalAndTestAgree holds that the interval of the ratio excludes 1 exactly where the
// test says that the rounds differ.
func TestIntervalAndTestAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	differ := 0
	for range 2000 {
		a, b := make([]float64, 4+r.IntN(9)), make([]float64, 4+r.IntN(9))
		shift := 1 + 0.2*r.Float64()
		for i := range a {
			a[i] = 1 + 0.2*r.Float64()
		}
		for i := range b {
			b[i] = shift * (1 + 0.2*r.Float64())
		}
		q := ratioOf(a, b, 0.05)
		p := pValue(a, b)
		if out := q.Low > 1 || q.High < 1; out != (p <= 0.05) {
			t.Fatalf("p %v, ratio %+v of %v and %v", p, q, a, b)
		}
		if p <= 0.05 {
			differ++
		}
		if !(q.Low <= q.Median && q.Median <= q.High) {
			t.Fatalf("ratio %+v", q)
		}
	}
	if differ < 100 {
		t.Errorf("only %d of the samples differed: this tells little", differ)
	}
}

// TestMarginOfManyRounds holds the approximation against the distribution, which takes its
// place where it is good enough.
func TestMarginOfManyRounds(t *testing.T) {
	for _, alpha := range []float64{0.01, 0.05, 0.2} {
		for _, n := range []int{20, 30} {
			if is, near := exact(n, 20, alpha), approx(n, 20, alpha); near < is-2 || near > is+2 {
				t.Errorf("%d and 20 rounds at %v: margin %d, approximately %d", n, alpha, is, near)
			}
		}
	}
	if m := margin(100, 100, 1e-6); m < 0 || m > 5000 {
		t.Errorf("margin %d", m)
	}
}

// TestLevel has the example of Benjamini and Hochberg's paper: of 15 p values, the four
// smallest count at 0.05.
func TestLevel(t *testing.T) {
	var tested []*Change
	for _, p := range []float64{0.0344, 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1} {
		tested = append(tested, &Change{P: &p})
	}
	if got := levelOf(tested, 0.05); got != 0.0095 {
		t.Errorf("level %v, want 0.0095", got)
	}
	if got := levelOf(tested[8:], 0.04); got >= 0 {
		t.Errorf("level %v where none counts", got)
	}
	if got := levelOf(nil, 0.05); got >= 0 {
		t.Errorf("level %v of none", got)
	}
}
