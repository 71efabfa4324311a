package retry

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A budgetModel is a Budget by the letter: the list of all that happened, with exact times, and
// integers. It allows what the doc comment does: a Window of up to 11 tenths, and up to 63 calls
// that count as later than they were.
type budgetModel struct {
	percent  [accounts]int64 // the shares; negative: none
	floor    int64           // negative: none
	window   time.Duration   // a multiple of 10
	cost     int             // of a timeout
	part     int64           // in percent
	start    time.Time
	calls    []budgetEvent
	spent    [accounts][]budgetEvent
	refused  [accounts]uint64
	byCaller [3][accounts]int // what each of three calls has spent
}

type budgetEvent struct {
	at time.Time
	n  int64
}

// within is the sum of the events that are no older than age.
func within(events []budgetEvent, age time.Duration) (sum int64) {
	for _, e := range events {
		if time.Since(e.at) <= age {
			sum += e.n
		}
	}
	return sum
}

func total(events []budgetEvent) uint64 { return uint64(within(events, math.MaxInt64)) }

// requests are the fewest and the most calls that may count.
func (m *budgetModel) requests() (least, most int64) {
	least, most = within(m.calls, m.window), within(m.calls, m.longest())
	old := within(m.calls, math.MaxInt64) - most
	return least, most + min(old, lookEvery-1)
}

// longest is how old something that counts can be.
func (m *budgetModel) longest() time.Duration { return m.window/10*11 - 1 }

// left is the least and the most that may be left in an account.
func (m *budgetModel) left(account int) (least, most int64) {
	limit := func(calls int64) int64 { return max(m.floor, calls*m.percent[account]/100, 0) }
	few, many := m.requests()
	least = limit(few) - within(m.spent[account], m.longest())
	most = limit(many) - within(m.spent[account], m.window)
	return max(least, 0), max(most, 0)
}

// allow says what a retry costs and whether it may be allowed with so much left.
func (m *budgetModel) allow(timeout bool, before int, left int64) (cost int64, ok bool) {
	cost = 1
	if timeout {
		cost = int64(m.cost)
	}
	own := int64(before)
	return cost, cost <= left && (own == 0 || (own+cost)*100 <= m.part*(own+left))
}

// A budgetStep is one of: a wait, calls that begin, or retries.
type budgetStep struct {
	Wait                 time.Duration
	Calls                int
	Retries              int
	Unprocessed, Timeout bool
	Caller               int // which call retries; negative: each a new one
}

// run does the steps to a Budget and returns what contradicts the model.
func (m *budgetModel) run(b *Budget, steps []budgetStep) (wrong []string) {
	for i, s := range steps {
		time.Sleep(s.Wait)
		begin(b, s.Calls)
		if s.Calls > 0 {
			m.calls = append(m.calls, budgetEvent{time.Now(), int64(s.Calls)})
		}
		for range s.Retries {
			wrong = append(wrong, m.retry(b, s)...)
		}
		if i%3 == 0 {
			wrong = append(wrong, m.compare(b.Stats())...)
		}
		if len(wrong) > 0 {
			return append(wrong, fmt.Sprintf("at step %d, %v after the start", i, time.Since(m.start)))
		}
	}
	return wrong
}

func (m *budgetModel) retry(b *Budget, s budgetStep) (wrong []string) {
	account, before := accountOf(s.Unprocessed), 0
	if s.Caller >= 0 {
		before = m.byCaller[s.Caller][account]
	}
	least, most := m.left(account)
	want, must := m.allow(s.Timeout, before, least)
	_, may := m.allow(s.Timeout, before, most)
	cost, ok := b.spend(s.Unprocessed, s.Timeout, before)
	switch {
	case ok && !may:
		wrong = append(wrong, fmt.Sprintf("%+v was allowed with %d left at most, %d spent by it before", s, most, before))
	case !ok && must:
		wrong = append(wrong, fmt.Sprintf("%+v was refused with %d left at least, %d spent by it before", s, least, before))
	case ok && int64(cost) != want, !ok && cost != 0:
		wrong = append(wrong, fmt.Sprintf("%+v cost %d (%t), want %d", s, cost, ok, want))
	}
	if !ok {
		m.refused[account]++
		return wrong
	}
	m.spent[account] = append(m.spent[account], budgetEvent{time.Now(), int64(cost)})
	if s.Caller >= 0 {
		m.byCaller[s.Caller][account] += cost
	}
	return wrong
}

func (m *budgetModel) compare(s BudgetStats) (wrong []string) {
	if least, most := m.requests(); int64(s.Requests) < least || int64(s.Requests) > most {
		wrong = append(wrong, fmt.Sprintf("%d requests, want %d to %d", s.Requests, least, most))
	}
	for account, left := range [accounts]int64{s.Left, s.LeftUnprocessed} {
		if least, most := m.left(account); left < least || left > most {
			wrong = append(wrong, fmt.Sprintf("account %d: %d left, want %d to %d", account, left, least, most))
		}
	}
	got := [...]uint64{s.Spent, s.SpentUnprocessed, s.Refused, s.RefusedUnprocessed}
	want := [...]uint64{total(m.spent[0]), total(m.spent[1]), m.refused[0], m.refused[1]}
	if got != want {
		wrong = append(wrong, fmt.Sprintf("totals %d, want %d", got, want))
	}
	return wrong
}

// drawBudget draws settings, both as a Budget's and as the model's.
func drawBudget(rt *rapid.T) (*Budget, *budgetModel) {
	percent := rapid.SampledFrom([]int64{-1, 1, 7, 10, 29, 100, 250})
	m := &budgetModel{
		percent: [accounts]int64{percent.Draw(rt, "share"), percent.Draw(rt, "unprocessed share")},
		floor:   rapid.SampledFrom([]int64{-1, 1, 3, 10, 100}).Draw(rt, "floor"),
		window:  rapid.SampledFrom([]time.Duration{10, 10 * time.Millisecond, 10 * time.Second, time.Hour}).Draw(rt, "window"),
		cost:    rapid.SampledFrom([]int{1, 2, 3, 11}).Draw(rt, "timeout cost"),
		part:    rapid.SampledFrom([]int64{1, 7, 20, 29, 50, 100}).Draw(rt, "part"),
	}
	return &Budget{
		Share:            float64(m.percent[0]) / 100,
		UnprocessedShare: float64(m.percent[1]) / 100,
		Floor:            int(m.floor),
		Window:           m.window,
		TimeoutCost:      m.cost,
		Part:             float64(m.part) / 100,
	}, m
}

// drawBudgetSteps draws up to 80 steps. Waits are parts of a tenth of the window, tenths, windows, and hours.
func drawBudgetSteps(rt *rapid.T, window time.Duration) []budgetStep {
	tenth := window / 10
	waits := rapid.OneOf(
		rapid.Just(time.Duration(0)),
		rapid.SampledFrom([]time.Duration{1, tenth / 3, tenth - 1, tenth, tenth + 1, window - tenth, window - 1, window, window + 1, window + tenth, 100 * window}),
		rapid.Map(rapid.IntRange(0, 2000), func(n int) time.Duration { return window * time.Duration(n) / 1000 }),
	)
	calls := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 130), rapid.SampledFrom([]int{1, 63, 64, 65, 1000}))
	step := rapid.Custom(func(rt *rapid.T) budgetStep {
		return budgetStep{
			Wait:        waits.Draw(rt, "wait"),
			Calls:       calls.Draw(rt, "calls"),
			Retries:     rapid.IntRange(0, 30).Draw(rt, "retries"),
			Unprocessed: rapid.Bool().Draw(rt, "unprocessed"),
			Timeout:     rapid.Bool().Draw(rt, "timeout"),
			Caller:      rapid.IntRange(-1, 2).Draw(rt, "caller"),
		}
	})
	return rapid.SliceOfN(step, 10, 80).Draw(rt, "steps")
}

// TestBudgetModel compares a Budget with the model. RAPID_CHECKS=10000 makes so many runs
// instead of 100; a failure is shrunk, and kept in testdata/rapid.
func TestBudgetModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, m := drawBudget(rt)
		steps := drawBudgetSteps(rt, m.window)
		if err := b.Check(); err != nil {
			rt.Fatal(err)
		}
		var wrong []string
		synctest.Test(t, func(*testing.T) {
			m.start = time.Now()
			wrong = m.run(b, steps)
		})
		if len(wrong) > 0 {
			rt.Fatalf("%s", strings.Join(wrong, "\n"))
		}
	})
}
