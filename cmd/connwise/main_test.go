package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/connwise/bench"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

func TestMain(m *testing.M) {
	if bench.IsChild() {
		os.Exit(bench.ChildMain(os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// An outcome is what a command line came to.
type outcome struct {
	code           int
	stdout, stderr string
}

func exec(ctx context.Context, args ...string) outcome {
	var stdout, stderr strings.Builder
	code := run(ctx, args, &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// noStats is a server for each way in which statistics can't be had.
func noStats(t *testing.T, h http.HandlerFunc) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return strings.Replace(srv.URL, "http://", "http://me:secret@", 1)
}

func TestCommandLines(t *testing.T) {
	html := noStats(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>"))
	})
	otherJSON := noStats(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"a":1}`)) })
	missing := noStats(t, http.NotFound)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	down := strings.Replace(closed.URL, "http://", "http://me:secret@", 1)

	tests := []struct {
		args   string
		code   int
		stderr []string // substrings; none: stderr is empty
	}{
		{"", exitOK, nil},
		{"--help", exitOK, nil},
		{"bench --help", exitOK, nil},
		{"stats --help", exitOK, nil},
		{"policy --help", exitOK, nil},
		{"--version", exitOK, nil},

		{"bnch", exitUsage, []string{`unknown command "bnch"`, "bench", "See 'connwise --help'"}},
		{"--nonsense", exitUsage, []string{"unknown flag: --nonsense"}},
		{"bench --nonsense", exitUsage, []string{"unknown flag: --nonsense", "See 'connwise bench --help'"}},
		{"bench extra", exitUsage, []string{"extra"}},
		{"bench --workers many", exitUsage, []string{"many", "--workers"}},
		{"bench --workers 0", exitUsage, []string{"--workers must be more than 0"}},
		{"bench --duration 0s", exitUsage, []string{"--duration must be more than 0"}},
		{"bench --workers 20000", exitUsage, []string{"must be 1 to 10000"}},
		{"bench --scenario stedy", exitUsage, []string{`scenario "stedy"`, "steady, burst, idle-race, restart"}},
		{"bench --proto h1,h2", exitUsage, []string{`proto "h2"`, "h1, h1s"}},
		{"bench --clients curl", exitUsage, []string{`client "curl"`, "connwise, net/http"}},
		{"bench --target localhost:80", exitUsage, []string{"target", "http://host:port/path"}},
		{"bench --target http://127.0.0.1:1/ --scenario restart", exitUsage, []string{"restart", "steady, burst"}},
		{"bench --target http://127.0.0.1:1/ --proto h1s", exitUsage, []string{"h1s", "http"}},
		{"bench --target " + down, exitFailed, []string{"target", "refused"}},

		{"stats", exitUsage, []string{"requires at least 1 arg"}},
		{"stats nowhere", exitUsage, []string{"nowhere", "http://host:port/path"}},
		{"stats http://me:secret@h:bad", exitUsage, []string{"no URL"}},
		{"stats " + down, exitFailed, []string{"refused", "127.0.0.1"}},
		{"stats " + html, exitFailed, []string{"not the JSON of pool.StatsHandler", "text/html"}},
		{"stats " + otherJSON, exitFailed, []string{"not the JSON of pool.StatsHandler"}},
		{"stats " + missing, exitFailed, []string{"404 Not Found"}},
		{"stats --json " + missing, exitFailed, []string{"404 Not Found"}},

		{"policy", exitOK, nil},
		{"policy twice", exitUsage, []string{`"twice"`, strings.Join(retry.Names(), ", ")}},
		{"policy once off", exitUsage, []string{"accepts at most 1 arg"}},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			got := exec(t.Context(), strings.Fields(tt.args)...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d; stderr:\n%s", got.code, tt.code, got.stderr)
			}
			if len(tt.stderr) == 0 && got.stderr != "" {
				t.Errorf("stderr isn't empty:\n%s", got.stderr)
			}
			for _, want := range tt.stderr {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
				}
			}
			if tt.code != exitOK && got.stdout != "" {
				t.Errorf("an error printed to stdout:\n%s", got.stdout)
			}
			if tt.code == exitOK && got.stdout == "" {
				t.Error("nothing on stdout")
			}
			if strings.Contains(got.stderr, "secret") || strings.Contains(got.stderr, "Usage:") {
				t.Errorf("stderr shows a password, or cobra's usage:\n%s", got.stderr)
			}
		})
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"bench", "--help"}, {"stats", "--help"}, {"policy", "--help"}} {
		got := exec(t.Context(), args...)
		if !strings.Contains(got.stdout, "Examples:\n  connwise ") {
			t.Errorf("%v has no example:\n%s", args, got.stdout)
		}
	}
}

func TestBenchTable(t *testing.T) {
	got := exec(t.Context(), strings.Fields("bench --scenario steady,idle-race --workers 2 --duration 100ms --rounds 1 --idle-timeout 40ms")...)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, want := range []string{"connwise: ", "net/http: ", "DefaultTransport.Clone()", "scenario", "allocs/req"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	rows := 0
	for line := range strings.Lines(got.stdout) {
		if f := strings.Fields(line); len(f) == 15 && (f[0] == "steady" || f[0] == "idle-race") {
			rows++
		}
	}
	if rows != 8 {
		t.Errorf("%d rows, want 8:\n%s", rows, got.stdout)
	}
}

func TestBenchJSON(t *testing.T) {
	got := exec(t.Context(), strings.Fields("bench --scenario steady --proto h1s --clients connwise --workers 2 --requests 20 --json")...)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	var rep bench.Report
	if err := json.Unmarshal([]byte(got.stdout), &rep); err != nil {
		t.Fatalf("stdout isn't JSON alone: %v\n%s", err, got.stdout)
	}
	if len(rep.Results) != 1 || rep.Results[0].Client != "connwise" || rep.Results[0].Proto != "h1s" || *rep.Results[0].Lost != 0 {
		t.Errorf("results %+v", rep.Results)
	}
}

// TestBenchTargetSaysWhatItSends checks that the owner of the target is told, and
// without his password.
func TestBenchTargetSaysWhatItSends(t *testing.T) {
	target := noStats(t, func(http.ResponseWriter, *http.Request) {})
	got := exec(t.Context(), "bench", "--target", target, "--scenario", "steady", "--workers", "2", "--requests", "20", "--clients", "net/http")
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	if !strings.Contains(got.stdout, "numbered by an X-Request-Id header, to http://me:xxxxx@127.0.0.1") {
		t.Errorf("stdout doesn't say what is sent:\n%s", got.stdout)
	}
	if strings.Contains(got.stdout+got.stderr, "secret") {
		t.Errorf("the password shows:\n%s", got.stdout)
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

func TestStats(t *testing.T) {
	stats := pool.Stats{Hosts: []pool.HostStats{
		{Host: "api.example:443", Scheme: "https", Open: 3, Idle: 2, InUse: 1, IdleLimit: 54 * time.Second, IdleLimitSource: "configured"},
		{Host: "db.example:80", Scheme: "http", Proxy: "http://proxy:3128", Waiting: 7, IdleLimitSource: "none"},
	}}
	source := statsFunc(func() pool.Stats { return stats })
	srv := httptest.NewServer(pool.StatsHandler(source))
	defer srv.Close()

	got := exec(t.Context(), "stats", srv.URL)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, want := range []string{"api.example:443", "54s", "configured", "db.example:80 via http://proxy:3128"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}

	asJSON := exec(t.Context(), "stats", "--json", srv.URL)
	want, err := json.MarshalIndent(stats, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(asJSON.stdout) != string(want) {
		t.Errorf("--json printed\n%s\nwant what was served:\n%s", asJSON.stdout, want)
	}

	stats.Hosts = []pool.HostStats{}
	if got := exec(t.Context(), "stats", srv.URL); got.code != exitOK || !strings.Contains(got.stdout, "no hosts in use") {
		t.Errorf("no hosts: exit code %d, %s%s", got.code, got.stdout, got.stderr)
	}
}

// TestStatsPrintsWhatItCan checks that one bad URL doesn't hide the good ones.
func TestStatsPrintsWhatItCan(t *testing.T) {
	one := []pool.HostStats{{Host: "api.example:443", Scheme: "https"}}
	srv := httptest.NewServer(pool.StatsHandler(statsFunc(func() pool.Stats { return pool.Stats{Hosts: one} })))
	defer srv.Close()
	got := exec(t.Context(), "stats", noStats(t, http.NotFound), srv.URL)
	if got.code != exitFailed || !strings.Contains(got.stderr, "404") || !strings.Contains(got.stdout, "api.example:443") {
		t.Errorf("exit code %d\nstdout %s\nstderr %s", got.code, got.stdout, got.stderr)
	}
}

type statsFunc func() pool.Stats

func (f statsFunc) Stats() pool.Stats { return f() }

func TestPolicyTable(t *testing.T) {
	cell := func(preset, phase, timeout, method string) string {
		t.Helper()
		got := exec(t.Context(), "policy", preset)
		lines := strings.Split(got.stdout, "\n")
		column := slices.Index(strings.Fields(lines[0]), method)
		for _, line := range lines[2:] {
			if f := strings.Fields(line); len(f) > 2 && f[0] == phase && f[1] == timeout {
				return f[column]
			}
		}
		t.Fatalf("no row %s %s in:\n%s", phase, timeout, got.stdout)
		return ""
	}
	tests := []struct{ preset, phase, timeout, method, want string }{
		{"default", "unsent", "no", "POST", "yes"},
		{"default", "sent", "no", "POST", "key"},
		{"default", "sent", "no", "GET", "yes"},
		{"never-timeouts", "dial", "yes", "GET", "-"},
		{"never-timeouts", "sent", "no", "POST", "call"},
		{"off", "unsent", "no", "GET", "-"},
	}
	for _, tt := range tests {
		if got := cell(tt.preset, tt.phase, tt.timeout, tt.method); got != tt.want {
			t.Errorf("%s: %s %s after phase %s: %q, want %q", tt.preset, tt.method, tt.timeout, tt.phase, got, tt.want)
		}
	}
}

func TestPolicyJSON(t *testing.T) {
	got := exec(t.Context(), "policy", "once", "--json")
	var m matrix
	if err := json.Unmarshal([]byte(got.stdout), &m); err != nil {
		t.Fatal(err)
	}
	p, _ := retry.Named("once")
	if m.Policy != "once" || !slices.Equal(m.Rows, retry.Matrix(p)) {
		t.Errorf("policy %q with %d rows isn't the preset's matrix", m.Policy, len(m.Rows))
	}
}
