package retry

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBudgetWindow: what is spent comes back after a Window, and no later than a tenth of it after.
func TestBudgetWindow(t *testing.T) {
	for _, window := range []time.Duration{0, time.Second, time.Hour, time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			b := Budget{Window: window}
			d := orDefault(window, 10*time.Second)
			tenth := (d + 9) / 10
			b.note()
			time.Sleep(tenth / 2) // so that it's spent in the middle of a slot
			wantSpent(t, &b, false, 100)
			time.Sleep(d)
			if got := spendAll(&b, false, false, 1); got != 0 {
				t.Errorf("Window %v: a retry was allowed %v after the last of 100", window, d)
			}
			time.Sleep(tenth)
			wantSpent(t, &b, false, 100)
		})
	}
}

// TestBudgetSlides: what was spent tenth by tenth comes back tenth by tenth.
func TestBudgetSlides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Budget
		b.note()
		var spent []int // second by second
		for second := range 60 {
			want := 0
			switch {
			case second < 10:
				want = 10
			case second > 10:
				want = spent[second-11]
			}
			most := 100
			if second < 10 {
				most = 10
			}
			spent = append(spent, spendAll(&b, true, false, most))
			if spent[second] != want {
				t.Errorf("second %d: %d retries were allowed, want %d", second, spent[second], want)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestBudgetCallsSlide: calls count for a Window, and no longer than a tenth of it more.
func TestBudgetCallsSlide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Budget{Floor: -1}
		for second := range 30 {
			begin(&b, 1000)
			if got, want := b.Stats().Left, int64(100*min(second+1, 11)); got != want {
				t.Errorf("second %d: Left %d, want %d", second, got, want)
			}
			time.Sleep(time.Second)
		}
		for second := 1; second <= 11; second++ { // silence
			if got, want := b.Stats().Left, int64(100*(11-second)); got != want {
				t.Errorf("second %d of silence: Left %d, want %d", second, got, want)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestBudgetIdleHour: after an hour the calls before it are forgotten, but for 63, however many
// of them nobody had looked at the clock for.
func TestBudgetIdleHour(t *testing.T) {
	for _, before := range []int{1, 64, 65, 128, 1000, 100_000} {
		synctest.Test(t, func(t *testing.T) {
			b := Budget{Floor: -1, Share: 1}
			begin(&b, before)
			time.Sleep(time.Hour)
			begin(&b, 500)
			got := spendAll(&b, false, false, 1000)
			if got < 500 || got > 563 {
				t.Errorf("%d calls an hour ago, 500 now: %d retries were allowed, want 500 to 563", before, got)
			}
		})
	}
}

// TestBudgetClockBack: a slot that lies before the current one changes nothing.
func TestBudgetClockBack(t *testing.T) {
	var w budgetWindow
	w.advance(100)
	w.call(7)
	for _, to := range []int64{100, 99, 90, 0, -1, -1 << 60} {
		w.advance(to)
		if w.now != 100 || w.sum.calls != 7 {
			t.Fatalf("slot %d after 100: %+v", to, w)
		}
	}
	w.advance(110)
	if w.sum.calls != 7 {
		t.Error("calls of ten slots ago are forgotten")
	}
	w.advance(111)
	if w.sum != (budgetSums{}) || w.slots != [budgetSlots]budgetSums{} {
		t.Errorf("calls of eleven slots ago are remembered: %+v", w)
	}
}
