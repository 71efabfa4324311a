package bench

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRowsShareTheTime pins that a run of whatever is added fits its time, and that what one
// row takes too long is taken from the others.
func TestRowsShareTheTime(t *testing.T) {
	for _, tt := range []struct {
		o     Options
		total time.Duration
	}{{Options{}, quickTime}, {Options{All: true}, allTime}} {
		p, err := tt.o.planFor(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		planned := time.Duration(0)
		for _, w := range p.rows {
			planned += time.Duration(len(p.clientsOf(w)))*p.Duration + p.overhead(w)
		}
		if planned > tt.total || planned < tt.total*8/10 && p.Duration < usualLength {
			t.Errorf("%d rows of %v take %v with what's between them, want %v", len(p.rows), p.Duration, planned, tt.total)
		}
		if p.Duration < 2*leastLength {
			t.Errorf("rows of %v: less than that tells little", p.Duration)
		}
		half := p.rows[len(p.rows)/2:]
		if late := p.shared(0, half, 1); late != leastLength {
			t.Errorf("with no time left rows take %v, want %v", late, leastLength)
		}
		if early := p.shared(tt.total, half, 1); early <= p.Duration && p.Duration < usualLength {
			t.Errorf("with all the time left half of the rows take %v each, want more than %v", early, p.Duration)
		}
	}
}

// TestTimeIsSharedWhereNothingIsSaid checks which runs have a time as a whole.
func TestTimeIsSharedWhereNothingIsSaid(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		want time.Duration
	}{
		{"nothing", Options{}, quickTime},
		{"all", Options{All: true}, allTime},
		{"a protocol", Options{Protos: []string{"h1"}}, quickTime},
		{"a duration", Options{All: true, Duration: time.Second}, 0},
		{"requests", Options{Requests: 1000}, 0},
		{"a scenario", Options{Scenarios: []string{"steady"}}, 0},
		{"a target", Options{Target: "http://h/"}, 0},
		{"a log", Options{Load: Load{kind: "replay", log: []arrival{{n: 1}}}}, 0},
	} {
		p, err := tt.o.planFor(1 << 20)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := p.budget(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestClockEndsInTime plays runs on machines of all speeds: what a row does before and after
// it is measured takes so many times as long as was guessed.
func TestClockEndsInTime(t *testing.T) {
	for _, tt := range []struct{ slow, within float64 }{{0.5, 1}, {1, 1.01}, {2, 1.05}, {3, 1.1}} {
		synctest.Test(t, func(t *testing.T) {
			p, err := Options{All: true}.planFor(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			c := clock{plan: p, began: time.Now()}
			for i, w := range p.rows {
				length := c.take(p.rows[i:])
				if length < leastLength || length > usualLength {
					t.Fatalf("row %d takes %v", i, length)
				}
				time.Sleep(length*time.Duration(len(p.clientsOf(w))) + time.Duration(tt.slow*float64(p.overhead(w))))
			}
			if took := time.Since(c.began); took.Seconds() > allTime.Seconds()*tt.within || took < allTime*8/10 {
				t.Errorf("with beginnings of %v times the guess the run took %v, want %v", tt.slow, took, allTime)
			}
		})
	}
}
