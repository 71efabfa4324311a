package retry

import (
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const budgetRacers = 64

// A budgetSpender's goroutine begins calls and retries them, at random moments of a bubble's time.
// Those of one moment run in parallel.
type budgetSpender struct {
	calls int // per round; each but the last is noted only
	calm  time.Duration
	share float64
	floor int64
}

// race lets 64 goroutines do so for a minute, and returns all calls and all that was spent.
func (s budgetSpender) race(b *Budget) (calls, spent []budgetEvent) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(time.Minute)
	for id := range budgetRacers {
		wg.Go(func() {
			var myCalls, mySpent []budgetEvent
			r := rand.New(rand.NewPCG(uint64(id), 1))
			for time.Now().Before(end) {
				time.Sleep(time.Duration(1+r.IntN(int(s.calm/(100*ms)))) * 100 * ms)
				begin(b, s.calls)
				myCalls = append(myCalls, budgetEvent{time.Now(), int64(s.calls)})
				for own := 0; ; {
					cost, ok := b.spend(false, r.IntN(4) == 0, own)
					if !ok {
						break
					}
					own += cost
					mySpent = append(mySpent, budgetEvent{time.Now(), int64(cost)})
				}
			}
			mu.Lock()
			defer mu.Unlock()
			calls, spent = append(calls, myCalls...), append(spent, mySpent...)
		})
	}
	wg.Wait()
	return calls, spent
}

// A budgetHistory answers how much there was between two moments.
type budgetHistory struct {
	events []budgetEvent // by time
	until  []int64       // the sum of those before each, and of all
}

func newBudgetHistory(events []budgetEvent) *budgetHistory {
	slices.SortFunc(events, func(a, b budgetEvent) int { return a.at.Compare(b.at) })
	h := &budgetHistory{events, []int64{0}}
	for i, e := range events {
		h.until = append(h.until, h.until[i]+e.n)
	}
	return h
}

// before is the sum up to and with that moment.
func (h *budgetHistory) before(at time.Time) int64 {
	i := sort.Search(len(h.events), func(i int) bool { return h.events[i].at.After(at) })
	return h.until[i]
}

// TestBudgetRace: whatever 64 goroutines do at a time, no Window has more retries than its floor
// or the share of its calls, and what was allowed is used.
func TestBudgetRace(t *testing.T) {
	for name, s := range map[string]budgetSpender{
		"floor":         {calls: 1, calm: 2 * time.Second, share: -1, floor: 150},
		"share":         {calls: 20, calm: time.Second, share: 0.25, floor: -1},
		"either":        {calls: 5, calm: 20 * time.Second, share: 0.4, floor: 40},
		"mostly asleep": {calls: 3, calm: time.Minute, share: 1, floor: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &Budget{Share: s.share, Floor: int(s.floor), Part: 0.5}
				calls, spent := s.race(b)
				s.check(t, calls, spent)
				if got, want := b.Stats().Spent, total(spent); got != want || want == 0 {
					t.Errorf("Stats has %d as spent, want %d and more than none", got, want)
				}
			})
		})
	}
}

// check looks at the Window before each retry, which are those with most of them.
func (s budgetSpender) check(t *testing.T, calls, spent []budgetEvent) {
	const window, longest = 10 * time.Second, 11 * time.Second
	begun, gone := newBudgetHistory(calls), newBudgetHistory(spent)
	used := 0.0 // the largest part of what a Window allowed
	for _, e := range spent {
		sum := gone.before(e.at) - gone.before(e.at.Add(-window))
		old := begun.before(e.at.Add(-longest))
		recent := begun.before(e.at) - old + min(old, lookEvery-1) // as some count as later than they were
		limit := max(s.floor, int64(s.share*float64(recent)))
		if sum > limit {
			t.Fatalf("%d spent in the Window that ends at %v, want %d at most", sum, e.at, limit)
		}
		used = max(used, float64(sum)/float64(limit))
	}
	if used < 0.8 {
		t.Errorf("at most %.0f %% of what was allowed in a Window was spent", 100*used)
	}
}

// TestBudgetExact: when all goroutines have begun their calls and spent what they could, exactly
// the share is spent: nothing is lost, and nothing counts twice.
func TestBudgetExact(t *testing.T) {
	b := &Budget{Share: 0.1, UnprocessedShare: 0.3, Floor: -1, Window: time.Hour}
	var wg sync.WaitGroup
	for range budgetRacers {
		wg.Go(func() {
			for range 1000 {
				b.note()
				b.spend(false, false, 0)
				b.spend(true, true, 0)
				b.Stats()
			}
		})
	}
	wg.Wait()
	spendAll(b, false, false, 6400)
	spendAll(b, true, false, 19200)
	s := b.Stats()
	if s.Requests != 64000 || s.Spent != 6400 || s.SpentUnprocessed != 19200 || s.Left != 0 || s.LeftUnprocessed != 0 {
		t.Errorf("%+v, want 64000 requests, 6400 and 19200 spent, none left", s)
	}
}
