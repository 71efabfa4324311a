package bench

import (
	"context"
	"errors"

	"testing"
	"time"
)

// TestInterruptedBetweenRounds ends a run when one of two clients has made its third round:
// what both have made by then is reported.
func TestInterruptedBetweenRounds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smoke()
	other := NetHTTP()
	other.Name = "other"
	o.Clients, o.Scenarios, o.Protos = []Client{NetHTTP(), other}, []string{"steady"}, []string{"h1"}
	o.Duration, o.Rounds, o.Requests = time.Hour, 4, 4*30
	o.Progress = func(s Step) {
		if s.Done == 5 {
			cancel()
		}
	}
	rep, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || len(rep.Results) != 2 {
		t.Fatalf("%d rows, %v; want two and context.Canceled", len(rep.Results), err)
	}
	for _, r := range rep.Results {
		if !r.Partial || r.Requests != 2*30 || len(r.Samples) != 2 || *r.Lost != 0 || r.P50 == nil {
			t.Errorf("%s: partial %v, %d requests in %d rounds, %d lost; want 60 in 2 and none", r.Client, r.Partial, r.Requests, len(r.Samples), *r.Lost)
		}
	}
}

// TestLoadIsTheSameForAll runs a load on real sockets, over HTTP/1.1 and HTTP/2.
func TestLoadIsTheSameForAll(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos = []string{"steady", "restart"}, []string{"h1", "h2"}
	o.Load, o.Seed, o.Rounds, o.Duration = load("poisson:2000"), 11, 2, 120*time.Millisecond
	rep, err := Run(t.Context(), o)
	if err != nil || rep.Seed != 11 {
		t.Fatal(rep.Seed, err)
	}
	want := int64(0)
	for round := range 2 {
		for a := range o.Load.arrivals(11, round, 60*time.Millisecond) {
			want += int64(a.n)
		}
	}
	for _, r := range rep.Results {
		due := want + 2*2*32 // two waves before each round
		if r.Requests != due || r.Load != "poisson:2000" || *r.Lost != 0 || r.Unmade != 0 || r.Timeline == nil {
			t.Errorf("%s %s %s: %d requests by %s, %d lost; want %d", r.Scenario, r.Proto, r.Client, r.Requests, r.Load, *r.Lost, due)
		}
	}
}

// TestUnmadeCallsAreCounted adds up those of two rounds.
func TestUnmadeCallsAreCounted(t *testing.T) {
	var tl tally
	tl.latency = newHistogram()
	for range 2 {
		r := &rig{latency: newLatencies(), unmade: 7}
		tl.add(r, nil)
	}
	if r := tl.result(row{}, "x"); r.Unmade != 14 {
		t.Errorf("%d calls never made, want 14", r.Unmade)
	}
}
