package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/bench"
)

func TestBenchTable(t *testing.T) {
	got := exec(t.Context(), strings.Fields("bench --scenario steady,goaway --workers 2 --duration 100ms --rounds 1 --wide")...)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, want := range []string{"connwise: ", "net/http: ", "DefaultTransport.Clone()", "scenario", "allocs"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	rows := 0
	for line := range strings.Lines(got.stdout) {
		if f := strings.Fields(line); len(f) > 12 && !strings.HasSuffix(f[2], ":") && (f[0] == "steady" || f[0] == "goaway") {
			rows++ // and no line about a row's errors
		}
	}
	if rows != 18 {
		t.Errorf("%d rows, want 18:\n%s", rows, got.stdout)
	}
	if n := strings.Count(got.stderr, "%  "); n != 8 {
		t.Errorf("progress of %d rows, want 8 lines:\n%s", n, got.stderr)
	}
}

// TestBenchLoad runs an open load, quietly.
func TestBenchLoad(t *testing.T) {
	got := exec(t.Context(), strings.Fields("bench --scenario steady --proto h1 --load poisson:400 --seed 3 --duration 90ms --quiet")...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	if !strings.Contains(got.stdout, "\nsteady (poisson:400)\n") {
		t.Errorf("the table doesn't say by which load:\n%s", got.stdout)
	}
	for _, args := range []string{"--load often", "--load constant:5 --scenario burst", "--load constant:5 --workers 32", "--wide --json"} {
		if got := exec(t.Context(), strings.Fields("bench "+args)...); got.code != exitUsage {
			t.Errorf("%s: exit code %d: %s", args, got.code, got.stderr)
		}
	}
}

func TestBenchJSON(t *testing.T) {
	got := exec(t.Context(), strings.Fields("bench --scenario steady --proto h1s,h2 --clients connwise --workers 2 --requests 20 --json")...)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	var rep bench.Report
	if err := json.Unmarshal([]byte(got.stdout), &rep); err != nil {
		t.Fatalf("stdout isn't JSON alone: %v\n%s", err, got.stdout)
	}
	if len(rep.Results) != 2 {
		t.Fatalf("results %+v", rep.Results)
	}
	for i, proto := range []string{"h1s", "h2"} {
		if r := rep.Results[i]; r.Client != "connwise" || r.Proto != proto || r.Requests != 20 || *r.Lost != 0 {
			t.Errorf("result %+v", r)
		}
	}
}

// TestBenchBurstUnderALimit reads from the JSON what a limit is for.
func TestBenchBurstUnderALimit(t *testing.T) {
	got := exec(t.Context(), strings.Fields("bench --scenario burst --proto h1s --burst 40 --delay 1ms --max-conns 3 --max-wait 5s --duration 100ms --rounds 1 --json")...)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	var rep bench.Report
	if err := json.Unmarshal([]byte(got.stdout), &rep); err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.Failed != 0 || *r.Waves < 1 || *r.PeakConns > 3 || *r.WaveDials > 3 || r.Requests%40 != 0 {
			t.Errorf("%+v: want full waves of 40 over 3 connections at most", r)
		}
	}
}

// TestBenchHelpSaysHowClientsAreSet checks that nobody has to run it to see.
func TestBenchHelpSaysHowClientsAreSet(t *testing.T) {
	got := exec(t.Context(), "bench", "--help")
	help := strings.Join(strings.Fields(got.stdout), " ")
	for _, c := range bench.DefaultClients() {
		if !strings.Contains(help, c.Name+" "+c.Note) {
			t.Errorf("--help lacks the note of %s: %s", c.Name, c.Note)
		}
	}
}

// TestBenchTargetSaysWhatItSends checks that the owner of the target is told, and
// without his password.
func TestBenchTargetSaysWhatItSends(t *testing.T) {
	var sent atomic.Int64
	target := noStats(t, func(http.ResponseWriter, *http.Request) { sent.Add(1) })
	got := exec(t.Context(), "bench", "--target", target, "--scenario", "steady", "--workers", "2", "--requests", "20", "--clients", "net/http")
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, want := range []string{"sending to http://xxxxx@127.0.0.1", "steady with 2 at a time", "at most 20 requests per client (clients: 1) and 21 in all"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
		}
	}
	if n := sent.Load(); n != 21 {
		t.Errorf("%d requests were sent, want 21", n)
	}
	if strings.Contains(got.stdout+got.stderr, "secret") {
		t.Errorf("the password shows:\n%s", got.stdout)
	}
}

// TestBenchTargetWithoutSuccess checks that a server which redirects everything
// gets no row of latencies that looks like a result.
func TestBenchTargetWithoutSuccess(t *testing.T) {
	target := noStats(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	got := exec(t.Context(), "bench", "--target", target, "--requests", "5", "--clients", "net/http", "--json")
	if got.code != exitFailed || !strings.Contains(got.stderr, "no call got a 2xx answer in: steady h1 net/http") {
		t.Errorf("exit code %d, stderr %s", got.code, got.stderr)
	}
	for _, want := range []string{`"requests": 5,`, `"failed": 0,`, `"p50_us": null`, `"p999_us": null`} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %s:\n%s", want, got.stdout)
		}
	}
}

// TestBenchInterrupted ends a bench that would take an hour.
func TestBenchInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := make(chan struct{})
	var once bool
	target := noStats(t, func(http.ResponseWriter, *http.Request) {
		if !once { // the first request comes alone
			once = true
			close(seen)
		}
	})
	go func() {
		<-seen
		cancel()
	}()
	got := exec(ctx, "bench", "--target", target, "--workers", "1", "--duration", "1h", "--clients", "net/http")
	if got.code != exitFailed || !strings.Contains(got.stderr, "interrupted; 0 rows were complete") {
		t.Errorf("exit code %d, stderr %s", got.code, got.stderr)
	}
}
