package retry

import (
	"encoding/json"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// begin notes n calls.
func begin(b *Budget, n int) {
	for range n {
		b.note()
	}
}

// spendAll asks for first retries, each for a call of its own, until one is refused or most were
// allowed, and returns what they cost.
func spendAll(b *Budget, unprocessed, timeout bool, most int) (total int) {
	for range most {
		cost, ok := b.spend(unprocessed, timeout, 0)
		if !ok {
			break
		}
		total += cost
	}
	return total
}

// wantSpent empties an account by first retries without timeouts.
func wantSpent(t *testing.T, b *Budget, unprocessed bool, want int) {
	t.Helper()
	if got := spendAll(b, unprocessed, false, want+1); got != want {
		t.Errorf("%d retries were allowed (unprocessed: %t), want %d", got, unprocessed, want)
	}
}

// TestBudgetLimit: what may be spent is the larger of the floor and the share, in each account.
func TestBudgetLimit(t *testing.T) {
	tests := []struct {
		name               string
		budget             Budget
		calls              int
		maybe, unprocessed int
	}{
		{"no call yet", Budget{}, 0, 100, 100},
		{"the floor is more than a share", Budget{}, 90, 100, 100},
		{"the share is more than the floor", Budget{}, 5000, 500, 5000},
		{"own shares", Budget{Share: 0.29, UnprocessedShare: 0.5}, 1000, 290, 500},
		{"more than all", Budget{Share: 1.5, UnprocessedShare: 3, Floor: 1}, 100, 150, 300},
		{"own floor", Budget{Floor: 7}, 50, 7, 50},
		{"no floor", Budget{Floor: -1}, 50, 5, 50},
		{"what rounding takes", Budget{Share: 0.29, UnprocessedShare: 0.57, Floor: -1}, 100, 29, 57},
		{"part of a retry is none", Budget{Floor: -1}, 9, 0, 9},
		{"no shares", Budget{Share: -1, UnprocessedShare: -0.5, Floor: 3}, 1000, 3, 3},
		{"nothing", Budget{Share: -1, UnprocessedShare: math.Inf(-1), Floor: -1}, 1000, 0, 0},
		{"no limit", Budget{Floor: math.MaxInt}, 0, 1000, 1000},
		{"a large share", Budget{Share: 1e3, UnprocessedShare: 1e4, Floor: -1}, 1, 1000, 10000},
	}
	for i := range tests {
		tt := &tests[i]
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin(&tt.budget, tt.calls)
				if tt.budget.Floor == math.MaxInt {
					if n := spendAll(&tt.budget, false, true, 1000); n != 2000 {
						t.Errorf("spent %d, want 2000", n)
					}
					return
				}
				wantSpent(t, &tt.budget, false, tt.maybe)
				wantSpent(t, &tt.budget, true, tt.unprocessed)
			})
		})
	}
}

// TestBudgetAccounts: a storm in one account leaves the other as it was.
func TestBudgetAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Budget
		for range 1000 {
			b.spend(false, false, 0)
		}
		if s := b.Stats(); s.Left != 0 || s.LeftUnprocessed != 100 || s.Refused != 900 || s.RefusedUnprocessed != 0 {
			t.Errorf("after a storm of lost requests: %+v", s)
		}
		if cost, ok := b.spend(true, false, 0); cost != 1 || !ok {
			t.Errorf("a request that was never sent: %d, %t, want it to be sent again", cost, ok)
		}
	})
}

// TestBudgetTimeoutCost: a retry after a timeout costs more, and is refused first.
func TestBudgetTimeoutCost(t *testing.T) {
	tests := []struct{ set, want int }{{0, 2}, {1, 1}, {5, 5}, {101, 0}, {math.MaxInt, 0}}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			b := Budget{TimeoutCost: tt.set}
			cost, ok := b.spend(false, true, 0)
			if cost != tt.want || ok != (tt.want > 0) {
				t.Errorf("TimeoutCost %d: %d, %t, want %d", tt.set, cost, ok, tt.want)
			}
			wantSpent(t, &b, false, 100-tt.want)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := Budget{Floor: 3}
		b.spend(true, true, 0)
		if _, ok := b.spend(true, true, 0); ok {
			t.Error("a timeout's retry overdrew the account")
		}
		if _, ok := b.spend(true, false, 0); !ok {
			t.Error("the last retry was refused, after one that was too dear")
		}
	})
}

// spendAlone lets one call retry until it's refused, and returns what that cost.
func spendAlone(b *Budget, timeout bool) (own int) {
	for {
		cost, ok := b.spend(false, timeout, own)
		if !ok {
			return own
		}
		own += cost
	}
}

// TestBudgetPart: one call gets a part of what is left, but always a first retry.
func TestBudgetPart(t *testing.T) {
	tests := []struct {
		name    string
		budget  Budget
		timeout bool
		gone    int // spent by others
		want    int
	}{
		{"a fifth of the floor", Budget{}, false, 0, 20},
		{"a fifth of the rest", Budget{}, false, 50, 10},
		{"in timeouts", Budget{}, true, 0, 20},
		{"in dear timeouts", Budget{TimeoutCost: 7}, true, 0, 14},
		{"the first one whatever the part", Budget{}, false, 99, 1},
		{"the first one after a timeout", Budget{}, true, 98, 2},
		{"not even that", Budget{}, true, 99, 0},
		{"own part", Budget{Part: 0.29}, false, 0, 29},
		{"a small part", Budget{Part: 1e-9}, false, 0, 1},
		{"all", Budget{Part: 1}, false, 40, 60},
	}
	for i := range tests {
		tt := &tests[i]
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spendAll(&tt.budget, false, false, tt.gone)
				if got := spendAlone(&tt.budget, tt.timeout); got != tt.want {
					t.Errorf("one call spent %d, want %d", got, tt.want)
				}
				wantSpent(t, &tt.budget, false, 100-tt.gone-tt.want) // by first retries of others
			})
		})
	}
}

// TestBudgetFewRetries: with a full floor no policy's retries of one call are refused, though
// each followed a timeout.
func TestBudgetFewRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, unprocessed := range []bool{false, true} {
			var b Budget
			for retry, own := 1, 0; retry <= 10; retry++ {
				cost, ok := b.spend(unprocessed, true, own)
				if !ok {
					t.Fatalf("retry %d was refused (unprocessed: %t)", retry, unprocessed)
				}
				own += cost
			}
		}
	})
}

// TestBudgetReadOnce: the fields are read at the first call, not before, and not later.
func TestBudgetReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Budget
		if s := b.Stats(); s.Left != 100 {
			t.Errorf("Left %d before the first call, want 100", s.Left)
		}
		b.Floor = 5
		if s := b.Stats(); s.Left != 5 {
			t.Errorf("Left %d before the first call, want 5: Stats must not fix the fields", s.Left)
		}
		b.note()
		b.Floor, b.Part, b.TimeoutCost, b.Window, b.Share = 50, 1, 1, time.Hour, 1
		if cost, ok := b.spend(false, true, 0); cost != 2 || !ok {
			t.Errorf("%d, %t: TimeoutCost was read again", cost, ok)
		}
		wantSpent(t, &b, false, 3)
	})
}

// TestBudgetStats: gauges fall and rise, totals only grow, in the names that metrics have.
func TestBudgetStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Budget{Floor: 10}
		begin(&b, 8)
		b.spend(false, true, 0)
		b.spend(false, true, 4)
		b.spend(true, false, 0)
		b.spend(true, true, 9)
		b.spend(true, true, 9)
		want := `{"requests":8,"left":8,"left_unprocessed":9,"spent":2,"spent_unprocessed":1,"refused":1,"refused_unprocessed":2}`
		for range 3 { // to look changes nothing
			if got, err := json.Marshal(b.Stats()); string(got) != want || err != nil {
				t.Fatalf("%s, %v, want %s", got, err, want)
			}
		}
		time.Sleep(time.Minute)
		if got, want := b.Stats(), (BudgetStats{0, 10, 10, 2, 1, 1, 2}); got != want {
			t.Errorf("a minute later %+v, want %+v", got, want)
		}
	})
}

// TestBudgetNoteIsFree: the count of a call allocates nothing.
func TestBudgetNoteIsFree(t *testing.T) {
	var b Budget
	if n := testing.AllocsPerRun(1000, b.note); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
