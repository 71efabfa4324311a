package retry

import (
	"math"
	"testing"
)

// BenchmarkBudgetNote is what a Budget adds to every call.
func BenchmarkBudgetNote(b *testing.B) {
	var budget Budget
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			budget.note()
		}
	})
}

// BenchmarkBudgetSpend is what it adds to a retry, and to a call that it refuses one.
func BenchmarkBudgetSpend(b *testing.B) {
	for _, bb := range []struct {
		name  string
		floor int
	}{{"allowed", math.MaxInt}, {"refused", -1}} {
		b.Run(bb.name, func(b *testing.B) {
			budget := Budget{Floor: bb.floor}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					budget.spend(false, true, 3)
				}
			})
		})
	}
}
