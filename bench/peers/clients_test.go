package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/bench"
)

// TestLimitHolds: --max-conns is a limit for every client, and those who wait get through.
func TestLimitHolds(t *testing.T) {
	rep, err := bench.Run(t.Context(), bench.Options{
		Scenarios: []string{"burst"}, Protos: []string{"h1", "h1s"}, Clients: clients(),
		Burst: 16, MaxConns: 3, Delay: time.Millisecond, Rounds: 1, Duration: 20 * time.Millisecond, Stderr: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if *r.PeakConns > 3 || r.Failed > 0 {
			t.Errorf("%s %s: %d connections at a time, %d of %d calls failed: %s", r.Proto, r.Client, *r.PeakConns, r.Failed, r.Requests, r.FirstError)
		}
	}
	if want := 2 * (len(clients()) - 1); len(rep.Results) != want { // floor is in steady alone
		t.Errorf("%d rows, want %d", len(rep.Results), want)
	}
}

// TestTargetGetsEachCallOnce: what somebody's server gets isn't multiplied by those who retry.
func TestTargetGetsEachCallOnce(t *testing.T) {
	for _, c := range clients() {
		if c.New == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var calls atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			defer srv.Close()
			client, err := c.New(bench.Setup{Proto: "h1", Callers: 1, Target: true})
			if err != nil {
				t.Fatal(err)
			}
			defer closeIt(t, client)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := client.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("the server got %d calls, want 1", n)
			}
		})
	}
}

// TestWhoRepeatsPOSTs shows what the notes say of the two that do, and that the others don't.
func TestWhoRepeatsPOSTs(t *testing.T) {
	again := map[string]bool{"go-retryablehttp": true, "failsafe-go": true}
	for _, c := range clients() {
		if c.Name == bench.Floor().Name {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if got := repeatsPOST(t, c); got != again[c.Name] {
				t.Errorf("a POST whose connection was cut after it was executed is sent again: %v, want %v", got, !got)
			}
		})
	}
}

// repeatsPOST has the first POST executed and its connection closed in place of an answer.
func repeatsPOST(t *testing.T, c bench.Client) bool {
	var calls atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if calls.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_ = post(ctx, t, c, bench.Setup{Proto: "h1", Callers: 1}, srv.URL) // its outcome is in calls
	return calls.Load() > 1
}
