package bench

import (
	"slices"
	"testing"
	"time"
)

func TestArrivals(t *testing.T) {
	tests := []struct {
		name        string
		rate, burst int
		length      time.Duration
		calls       int
		bursts      []time.Duration
	}{
		{"the default for 20 s", 2000, 500, 20 * time.Second, 40_000 + 20*500, halves(20)},
		{"two bursts", 10, 3, 2 * time.Second, 20 + 2*3, halves(2)},
		{"the second burst is too late", 10, 3, 1500 * time.Millisecond, 15 + 3, halves(1)},
		{"shorter than a second", 100, 50, 200 * time.Millisecond, 20 + 50, []time.Duration{100 * time.Millisecond}},
		{"a burst between two others", 3, 2, time.Second, 3 + 2, halves(1)},
		{"a rate that doesn't divide a second", 7, 1, 3 * time.Second, 21 + 3, halves(3)},
		{"one at the start", 1, 9, time.Second, 1 + 9, halves(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls, last := 0, time.Duration(0)
			var bursts []time.Duration
			for at, n := range arrivals(tt.rate, tt.burst, tt.length) {
				calls += n
				if n == tt.burst {
					bursts = append(bursts, at)
				}
				if at < last || at >= tt.length {
					t.Fatalf("%v comes after %v, in %v", at, last, tt.length)
				}
				last = at
			}
			if tt.burst == 1 {
				bursts = tt.bursts // they look like the others
			}
			if calls != tt.calls || !slices.Equal(bursts, tt.bursts) {
				t.Errorf("%d calls, bursts at %v; want %d, %v", calls, bursts, tt.calls, tt.bursts)
			}
		})
	}
}

// halves are 0.5 s, 1.5 s and so on.
func halves(n int) []time.Duration {
	var ds []time.Duration
	for i := range n {
		ds = append(ds, time.Duration(i)*time.Second+time.Second/2)
	}
	return ds
}

func TestRamp(t *testing.T) {
	for _, tt := range []struct {
		from, to float64
		length   time.Duration
		calls    int
		half     int // calls in the first half of the time
	}{
		{100, 5000, 2 * time.Second, 5100, 1325},
		{5000, 100, 2 * time.Second, 5100, 3775},
		{0, 10, 10 * time.Second, 50, 13},
		{10, 0, 10 * time.Second, 50, 38},
		{0.5, 0.5, 10 * time.Second, 5, 3},
	} {
		calls, half, last := 0, 0, time.Duration(-1)
		for a := range ramp(tt.from, tt.to, tt.length) {
			calls++
			if a.at < tt.length/2 {
				half++
			}
			if a.n != 1 || a.at <= last || a.at >= tt.length {
				t.Fatalf("%v to %v: %d at %v after %v", tt.from, tt.to, a.n, a.at, last)
			}
			last = a.at
		}
		if calls != tt.calls || half != tt.half {
			t.Errorf("%v to %v in %v: %d calls, %d in its first half; want %d, %d", tt.from, tt.to, tt.length, calls, half, tt.calls, tt.half)
		}
	}
}

// TestPoisson checks that the times are of a process in which requests don't depend on each
// other: as many in each tenth of a second as the rate says, with that as their variance,
// and the same for all who ask.
func TestPoisson(t *testing.T) {
	l, length := load("poisson:1000"), 100*time.Second
	at := slices.Collect(l.arrivals(7, 1, length))
	if again := slices.Collect(l.arrivals(7, 1, length)); !slices.Equal(at, again) {
		t.Error("the same seed and round give other times")
	}
	for _, other := range []struct {
		seed  uint64
		round int
	}{{7, 0}, {8, 1}} {
		if slices.Equal(at[:100], slices.Collect(l.arrivals(other.seed, other.round, length))[:100]) {
			t.Errorf("seed %d, round %d give the times of seed 7, round 1", other.seed, other.round)
		}
	}
	var bins [1000]float64
	for _, a := range at {
		bins[a.at/(100*time.Millisecond)]++
	}
	mean, variance := float64(len(at))/1000, 0.0
	for _, n := range bins {
		variance += (n - mean) * (n - mean) / 1000
	}
	if mean < 97 || mean > 103 || variance < 80 || variance > 120 {
		t.Errorf("%.1f requests in a tenth of a second, with variance %.1f; want 100 and 100", mean, variance)
	}
}
