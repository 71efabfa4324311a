package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/connwise/bench"
	"example.com/connwise/internal/benchcli"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

func TestMain(m *testing.M) {
	if bench.IsChild() {
		os.Exit(bench.ChildMain(os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv(asCommand) != "" {
		os.Exit(benchcli.Main(run))
	}
	goleak.VerifyTestMain(m)
}

// asCommand in the environment makes the test's binary the command itself.
const asCommand = "CONNWISE_TEST_COMMAND"

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
		{"bench extra", exitUsage, []string{`bench takes no arguments, got "extra"`}},
		{"bench --scenario=", exitUsage, []string{`scenario ""`, "steady, burst, burst-warm"}},
		{"bench --proto=", exitUsage, []string{`proto ""`, "h1, h1s, h2, h2c"}},
		{"bench --clients=", exitUsage, []string{`client ""`, "connwise, net/http"}},
		{"bench --call-timeout 0s", exitUsage, []string{"--call-timeout must be more than 0"}},
		{"bench --call-timeout -1s", exitUsage, []string{"call-timeout", "more than 0"}},
		{"help", exitOK, nil},
		{"help bench", exitOK, nil},
		{"help nope", exitUsage, []string{`unknown command "nope"`}},
		{"help bench nope", exitUsage, []string{`unknown command "bench nope"`}},
		{"bench --workers many", exitUsage, []string{"many", "--workers"}},
		{"bench --workers 0", exitUsage, []string{"--workers must be more than 0"}},
		{"bench --duration 0s", exitUsage, []string{"--duration must be more than 0"}},
		{"bench --workers 20000", exitUsage, []string{"must be 1 to 10000"}},
		{"bench --burst 0", exitUsage, []string{"--burst must be more than 0"}},
		{"bench --rate 0 --scenario burst-warm", exitUsage, []string{"--rate must be more than 0"}},
		{"bench --rate 2000 --scenario burst", exitUsage, []string{`rate "2000"`, "none of the scenarios chosen has it; known: burst-warm"}},
		{"bench --delay 5ms --scenario steady", exitUsage, []string{`delay "5ms"`, "known: burst, burst-warm"}},
		{"bench --scenario steady --max-wait 5s", exitUsage, []string{`max-wait "5s"`, "without max-conns"}},
		{"bench --scenario stedy", exitUsage, []string{`scenario "stedy"`, "steady, burst, burst-warm"}},
		{"bench --proto h1,h3", exitUsage, []string{`proto "h3"`, "h1, h1s, h2, h2c"}},
		{"bench --clients curl", exitUsage, []string{`client "curl"`, "connwise, net/http"}},
		{"bench --target localhost:80", exitUsage, []string{"target", "http://host:port/path"}},
		{"bench --target http://127.0.0.1:1/ --scenario restart", exitUsage, []string{"restart", "steady, burst"}},
		{"bench --target http://127.0.0.1:1/ --proto h1s", exitUsage, []string{"h1s", "http"}},
		{"bench --target https://127.0.0.1:1/ --proto h2c", exitUsage, []string{"h2c", "https"}},
		{"bench --target " + down, exitFailed, []string{"target", "refused"}},

		{"stats", exitUsage, []string{"requires at least 1 arg"}},
		{"stats --timeout 0s http://127.0.0.1:1/", exitUsage, []string{"--timeout 0s: must be more than 0"}},
		{"stats --timeout -1s http://127.0.0.1:1/", exitUsage, []string{"--timeout -1s: must be more than 0"}},
		{"stats nowhere", exitUsage, []string{"nowhere", "http://host:port/path"}},
		{"stats http://me:secret@h:bad", exitUsage, []string{"no URL"}},
		{"stats --watch 5s http://127.0.0.1:1/", exitUsage, []string{"5s is no URL", "--watch=5s"}},
		{"stats --watch=1ms http://127.0.0.1:1/", exitUsage, []string{"--watch=1ms: must be at least 100ms"}},
		{"stats --watch=0s http://127.0.0.1:1/", exitUsage, []string{"--watch=0s: must be at least 100ms"}},
		{"stats --watch=often http://127.0.0.1:1/", exitUsage, []string{"--watch", "often"}},
		{"stats --watch --json http://127.0.0.1:1/", exitUsage, []string{"--watch and --json"}},
		{"stats --sort speed http://127.0.0.1:1/", exitUsage, []string{`--sort "speed"`, "host, open, idle, in-use, dialing, waiting, sent, failed", "dial-errs"}},
		{"stats --sort= http://127.0.0.1:1/", exitUsage, []string{`--sort ""`}},
		{"stats " + down, exitFailed, []string{"refused", "127.0.0.1"}},
		{"stats " + html, exitFailed, []string{"not the JSON of pool.StatsHandler", "text/html"}},
		{"stats " + otherJSON, exitFailed, []string{"not the JSON of pool.StatsHandler"}},
		{"stats " + missing, exitFailed, []string{"404 Not Found"}},
		{"stats --json " + missing, exitFailed, []string{"404 Not Found"}},

		{"policy", exitOK, nil},
		{"policy twice", exitUsage, []string{`"twice"`, strings.Join(retry.Names(), ", ")}},
		{"policy once off", exitUsage, []string{"takes one preset", strings.Join(retry.Names(), ", ")}},
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
	for _, args := range [][]string{{"--help"}, {"bench", "--help"}, {"probe", "--help"}, {"stats", "--help"}, {"policy", "--help"},
		{"proxy", "--help"}, {"man", "--help"}, {"completion", "--help"}} {
		got := exec(t.Context(), args...)
		if !strings.Contains(got.stdout, "Examples:\n  connwise ") {
			t.Errorf("%v has no example:\n%s", args, got.stdout)
		}
	}
}

// TestErrorsOfStdoutNameTheCommand checks that a failed write tells what failed in
// the user's words.
func TestErrorsOfStdoutNameTheCommand(t *testing.T) {
	srv := httptest.NewServer(pool.StatsHandler(statsFunc(func() pool.Stats {
		return pool.Stats{Hosts: []pool.HostStats{{Host: "h:80"}}}
	})))
	defer srv.Close()
	for _, args := range []string{
		"bench --scenario steady --proto h1 --clients net/http --requests 5",
		"bench --scenario steady --proto h1 --clients net/http --requests 5 --json",
		"stats " + srv.URL, "stats --json " + srv.URL,
		"policy", "policy off", "policy --json",
	} {
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(args), full{}, &stderr)
		want := "connwise: " + strings.Fields(args)[0] + ": disk full\n"
		if code != exitFailed || !strings.HasSuffix(stderr.String(), want) {
			t.Errorf("%s: exit code %d, stderr %q; want it to end in %q", args, code, stderr.String(), want)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }
