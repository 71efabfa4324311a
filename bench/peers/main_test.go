package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/connwise/bench"
	"example.com/connwise/internal/cli"
)

func TestMain(m *testing.M) {
	if bench.IsChild() {
		os.Exit(bench.ChildMain(os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m,
		// fasthttp's goroutines end when they wake up and find nothing to look after, seconds
		// after its client was closed.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*TCPDialer).tcpAddrsClean"),
	)
}

func exec(ctx context.Context, line string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = run(ctx, strings.Fields(line), &out, &errs)
	return code, out.String(), errs.String()
}

func TestHelpNamesEachClient(t *testing.T) {
	code, help, _ := exec(t.Context(), "--help")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, c := range clients() {
		if !strings.Contains(help, "\n  "+c.Name) || c.Note == "" {
			t.Errorf("%s: not in the help, or without a note", c.Name)
		}
	}
}

func TestMistakesAreOfUsage(t *testing.T) {
	for _, line := range []string{"--bogus", "--clients nobody", "--scenario nothing", "more"} {
		if code, _, stderr := exec(t.Context(), line); code != cli.ExitUsage || !strings.HasPrefix(stderr, "peers: ") {
			t.Errorf("%s: exit code %d: %s", line, code, stderr)
		}
	}
}

func TestTable(t *testing.T) {
	code, stdout, stderr := exec(t.Context(), "--scenario steady --proto h1 --workers 2 --duration 60ms --rounds 1")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, c := range clients() {
		if strings.Count(stdout, c.Name+" ") == 0 {
			t.Errorf("%s isn't in the table:\n%s", c.Name, stdout)
		}
	}
}

// TestMissingRowsAreSaid: no row is missing without a word.
func TestMissingRowsAreSaid(t *testing.T) {
	code, stdout, stderr := exec(t.Context(), "--scenario steady --proto h1,h2 --clients fasthttp,floor,httplb --workers 2 --duration 60ms --rounds 1")
	if code != cli.ExitOK || !strings.Contains(stdout, "\nfasthttp has no part in: h2\n") {
		t.Errorf("exit code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
}
