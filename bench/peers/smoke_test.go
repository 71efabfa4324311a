package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"example.com/connwise/bench"
)

// TestEveryClientInEveryScenario runs each client that is this module's for a moment in all
// rows that it's in. What holds for all of them: calls succeed, every answer is of a call
// that was executed, and those that repeat no POST have none executed twice.
func TestEveryClientInEveryScenario(t *testing.T) {
	for _, c := range clients() {
		if slices.ContainsFunc(bench.DefaultClients(), func(d bench.Client) bool { return d.Name == c.Name }) {
			continue // package bench runs it
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // mostly they wait, between tries
			rep, err := bench.Run(t.Context(), bench.Options{
				All: true, Clients: []bench.Client{c},
				Workers: 4, Burst: 8, Rate: 200, Rounds: 1, Requests: 200,
				Duration: 30 * time.Millisecond, IdleTimeout: 40 * time.Millisecond,
				Stderr: os.Stderr,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rep.Results {
				check(t, r)
			}
		})
	}
}

func check(t *testing.T, r bench.Result) {
	row := r.Scenario + " " + r.Proto
	// Who tries a dead address first and only it can spend the moment on that.
	if dead := r.Scenario == "deadaddr"; r.Requests == 0 || r.Succeeded() == 0 && !dead {
		t.Errorf("%s: %d of %d calls succeeded; first error: %s", row, r.Succeeded(), r.Requests, r.FirstError)
	}
	if *r.Lost != 0 {
		t.Errorf("%s: %d lost", row, *r.Lost)
	}
	if again := r.Client == "go-retryablehttp" || r.Client == "failsafe-go"; *r.ExecutedTwice != 0 && !again {
		t.Errorf("%s: %d executed twice", row, *r.ExecutedTwice)
	}
}
