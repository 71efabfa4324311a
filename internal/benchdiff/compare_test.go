package benchdiff

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/connwise/bench"
)

// faulty is a report of one row with these counts in each of its rounds.
func faulty(rounds int, avoidable, dials, requests int64) bench.Report {
	r := bench.Result{
		Scenario: "restart", Proto: "h2", Client: "connwise", Requests: requests * int64(rounds), Failed: avoidable * int64(rounds),
		Avoidable: new(avoidable * int64(rounds)), ExecutedTwice: new(int64(0)), Lost: new(int64(0)), Dials: new(dials * int64(rounds)),
	}
	for i := range rounds {
		r.Samples = append(r.Samples, bench.Sample{Requests: requests, Failed: avoidable, Avoidable: &avoidable, ExecutedTwice: new(int64(0)), Lost: new(int64(0)), Dials: new(dials + int64(i%3))})
	}
	return bench.Report{Results: []bench.Result{r}}
}

// TestCountsThatMustBeZero holds that one avoidable failure is worse than none without any
// statistics, and that to have none any more has to be shown.
func TestCountsThatMustBeZero(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rounds int
		a, b   int64
		want   Verdict
	}{
		{"none", 3, 0, 0, Same},
		{"some at last, in one round", 1, 0, 1, Worse},
		{"as many", 9, 4, 4, Same},
		{"more", 9, 4, 8, Worse},
		{"none any more", 9, 4, 0, Better},
		{"none any more, in three rounds", 3, 4, 0, Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Compare(faulty(tt.rounds, tt.a, 5, 1000), faulty(tt.rounds, tt.b, 5, 1000), "a", "b", Options{})
			if got := verdicts(c, "avoidable")["restart connwise"]; got != tt.want {
				t.Errorf("verdict %q, want %q", got, tt.want)
			}
		})
	}
}

// TestOneViolationIsWorse: rounds have no count of them.
func TestOneViolationIsWorse(t *testing.T) {
	a, b := faulty(3, 0, 1, 100), faulty(3, 0, 1, 100)
	b.Results[0].Violations = 1
	if got := verdicts(Compare(a, b, "a", "b", Options{}), "violations")["restart connwise"]; got != Worse {
		t.Errorf("%q, want %q", got, Worse)
	}
}

// TestDialsCountWithRequests holds that a faster or slower run isn't one of more dials.
func TestDialsCountWithRequests(t *testing.T) {
	for _, tt := range []struct {
		name            string
		dials, requests int64
		want            Verdict
	}{
		{"twice the requests with twice the dials", 40, 2000, Same},
		{"half the requests with as many dials", 20, 500, Same},
		{"more dials, and fewer for each request", 40, 4000, Same},
		{"as many requests with twice the dials", 40, 1000, Worse},
		{"more requests with half the dials", 10, 1200, Better},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Compare(faulty(9, 0, 20, 1000), faulty(9, 0, tt.dials, tt.requests), "a", "b", Options{})
			if got := verdicts(c, "dials")["restart connwise"]; got != tt.want {
				t.Errorf("verdict %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRowsAndNotes checks what is compared with what, and what is said about the rest.
func TestRowsAndNotes(t *testing.T) {
	row := func(scenario, client string, size *int64) bench.Result {
		return bench.Result{Scenario: scenario, Proto: "h1", Client: client, Size: size}
	}
	a := bench.Report{
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Command: "one --out 'a b' --html x --json", Machine: bench.Machine{CPU: "slow", Go: "go1.26", Version: "v1"},
		Clients: []bench.ClientNote{{Name: "x", Note: "so"}},
		Results: []bench.Result{row("hosts", "x", new(int64(1))), row("hosts", "x", new(int64(10))), row("steady", "x", nil)},
	}
	b := bench.Report{
		Command: "two --quiet --out b", Machine: bench.Machine{CPU: "fast", Go: "go1.26", Version: "v2"},
		Clients: []bench.ClientNote{{Name: "x", Note: "otherwise"}},
		Results: []bench.Result{row("steady", "x", nil), row("hosts", "x", new(int64(10))), row("burst", "y", nil)},
	}
	c := Compare(a, b, "old", "new", Options{})
	var sizes []int64
	for _, ch := range c.Changes {
		if ch.Metric == "failed" && ch.Size != nil {
			sizes = append(sizes, *ch.Size)
		}
	}
	if !slices.Equal(sizes, []int64{10}) || !slices.Equal(c.OnlyA, []string{"hosts h1 size 1 x"}) || !slices.Equal(c.OnlyB, []string{"burst h1 y"}) {
		t.Errorf("sizes %v, only in a %v, only in b %v", sizes, c.OnlyA, c.OnlyB)
	}
	want := []string{"CPU differs: slow, fast", "connwise differs: v1, v2", "command differs: one, two", "x was configured otherwise: so; otherwise"}
	if !slices.Equal(c.Notes, want) {
		t.Errorf("notes %q, want %q", c.Notes, want)
	}
	var text strings.Builder
	if err := c.WriteTable(&text, true); err != nil {
		t.Fatal(err)
	}
	for _, s := range append(want, "A: old, 2026-01-02 03:04:05 UTC, connwise v1, go1.26", "Only in A: hosts h1 size 1 x\n", "Only in B: burst h1 y\n", "hosts 10") {
		if !strings.Contains(text.String(), s) {
			t.Errorf("the table lacks %q:\n%s", s, text.String())
		}
	}
	if got := Compare(a, b, "old", "new", Options{Clients: []string{"y"}}); len(got.Changes) != 0 || len(got.OnlyA) != 0 || len(got.OnlyB) != 1 {
		t.Errorf("of y alone: %+v", got)
	}
}

// TestAnyReports holds that whatever a file may say is compared without a panic, into JSON.
func TestAnyReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyReport(t), anyReport(t)
		c := Compare(a, b, "a", "b", Options{Alpha: rapid.SampledFrom([]float64{1e-6, 0.05, 0.5}).Draw(t, "alpha"), Least: rapid.SampledFrom([]float64{0, 0.02}).Draw(t, "least")})
		var text strings.Builder
		if err := c.WriteJSON(&text); err != nil || !json.Valid([]byte(text.String())) {
			t.Fatalf("%v: %s", err, text.String())
		}
		if err := c.WriteTable(&text, true); err != nil {
			t.Fatal(err)
		}
		for _, ch := range c.Changes {
			if !slices.Contains([]Verdict{Better, Worse, Same, Unknown}, ch.Verdict) {
				t.Fatalf("verdict %q of %+v", ch.Verdict, ch)
			}
			if q := ch.Ratio; q != nil && !(q.Low <= q.Median && q.Median <= q.High) {
				t.Fatalf("ratio %+v", q)
			}
		}
		if other := Compare(a, a, "a", "a", Options{}); other.Count(Better)+other.Count(Worse) > 0 {
			t.Fatalf("a report differs from itself: %+v", other.Changes)
		}
	})
}

func anyReport(t *rapid.T) bench.Report {
	value := rapid.SampledFrom([]float64{0, 1, 1, 2, 2.5, -3, 1e308, 1e-308})
	counted := rapid.SampledFrom([]int64{0, 0, 1, 3, 1 << 62, -1})
	maybe := func() *float64 {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return new(value.Draw(t, "value"))
	}
	some := func() *int64 {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return new(counted.Draw(t, "count"))
	}
	var rep bench.Report
	for _, client := range []string{"connwise", "net/http"} {
		r := bench.Result{Scenario: "s", Proto: "h1", Client: client, CPUPerRequest: maybe(), P99: maybe(), Avoidable: some(), Lost: some(), Dials: some(), RPS: value.Draw(t, "rps")}
		for range rapid.IntRange(0, 6).Draw(t, "rounds") {
			r.Samples = append(r.Samples, bench.Sample{Requests: counted.Draw(t, "requests"), CPUPerRequest: maybe(), P99: maybe(), Avoidable: some(), Lost: some(), Dials: some(), RPS: value.Draw(t, "rps")})
		}
		rep.Results = append(rep.Results, r)
	}
	return rep
}
