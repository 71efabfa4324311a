package retry

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestBudgetCheck: what makes no sense is named, and counts as zero.
func TestBudgetCheck(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		budget Budget
		field  string // empty: it's fine
	}{
		{Budget{}, ""},
		{Budget{Share: 1e6, UnprocessedShare: -1, Floor: -1, Window: 1, TimeoutCost: 1, Part: 1}, ""},
		{Budget{Share: math.Inf(-1), Floor: math.MaxInt, Window: math.MaxInt64, TimeoutCost: math.MaxInt, Part: 1e-300}, ""},
		{Budget{Share: nan}, "Budget.Share"},
		{Budget{Share: 1.1e6}, "Budget.Share"},
		{Budget{Share: math.Inf(1)}, "Budget.Share"},
		{Budget{UnprocessedShare: nan}, "Budget.UnprocessedShare"},
		{Budget{UnprocessedShare: math.MaxFloat64}, "Budget.UnprocessedShare"},
		{Budget{Window: -1}, "Budget.Window"},
		{Budget{TimeoutCost: -1}, "Budget.TimeoutCost"},
		{Budget{Part: nan}, "Budget.Part"},
		{Budget{Part: -0.1}, "Budget.Part"},
		{Budget{Part: 1.001}, "Budget.Part"},
		{Budget{Part: math.Inf(-1)}, "Budget.Part"},
	}
	for i := range tests {
		tt := &tests[i]
		err := tt.budget.Check()
		e, ok := errors.AsType[*BudgetError](err)
		switch {
		case tt.field == "" && err != nil:
			t.Errorf("%d: %v, want nil", i, err)
		case tt.field == "":
		case !ok || e.Field != tt.field || !strings.HasPrefix(err.Error(), "retry: "+tt.field+": is "):
			t.Errorf("%d: %v, want one about %s", i, err, tt.field)
		case tt.budget.settle() != new(Budget).settle():
			t.Errorf("%s: %+v, want the zero Budget's %+v", tt.field, tt.budget.settle(), new(Budget).settle())
		}
	}
}

// TestBudgetFirstWrongField: Check goes by the order of the declaration.
func TestBudgetFirstWrongField(t *testing.T) {
	b := Budget{Share: 2e6, UnprocessedShare: 2e6, Window: -1, TimeoutCost: -1, Part: 2}
	for _, fix := range []struct {
		field string
		set   func()
	}{
		{"Budget.Share", func() { b.Share = 0 }},
		{"Budget.UnprocessedShare", func() { b.UnprocessedShare = 0 }},
		{"Budget.Window", func() { b.Window = 0 }},
		{"Budget.TimeoutCost", func() { b.TimeoutCost = 0 }},
		{"Budget.Part", func() { b.Part = 0 }},
	} {
		if e, ok := errors.AsType[*BudgetError](b.Check()); !ok || e.Field != fix.field {
			t.Errorf("%v, want one about %s", b.Check(), fix.field)
		}
		fix.set()
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
}

// TestBudgetSlot: ten slots are a Window or a little more, never less.
func TestBudgetSlot(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		0: time.Second, 1: 1, 9: 1, 10: 1, 11: 2, time.Minute: 6 * time.Second,
		math.MaxInt64: math.MaxInt64/10 + 1,
	} {
		if got := (&Budget{Window: window}).settle().slot; got != want {
			t.Errorf("Window %d: slots of %d, want %d", window, got, want)
		}
	}
}

// TestBudgetHuge: no figure overflows.
func TestBudgetHuge(t *testing.T) {
	b := Budget{Share: 1e6, Floor: math.MaxInt}
	r := b.settle()
	sum := budgetSums{calls: math.MaxUint64}
	if left := r.left(&sum, maybeSentAccount); left < math.MaxInt {
		t.Errorf("left %d, want all", left)
	}
	b.Floor = -1
	r = b.settle()
	if left := r.left(&sum, maybeSentAccount); left <= 0 {
		t.Errorf("left %d of a million retries for each of 2^64 calls", left)
	}
	sum.spent[maybeSentAccount] = math.MaxInt64
	if left := r.left(&sum, maybeSentAccount); left != 0 {
		t.Errorf("left %d of an overdrawn account", left)
	}
	if r.allow(math.MaxInt, math.MaxInt, math.MaxInt64) {
		t.Error("a call may have all twice")
	}
}
