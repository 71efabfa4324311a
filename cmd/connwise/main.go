// Command connwise is a reverse proxy on the library's connections and retries, runs benchmarks
// of HTTP clients under what proxies do to them, shows the pool statistics of live processes,
// and prints the retry policies.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"example.com/connwise/bench"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // something went wrong at run time
	exitUsage  = 2 // the command line makes no sense
)

func main() { os.Exit(start()) }

// start runs the peer of a bench where this process was started for that, and the
// command line otherwise. The first signal ends the command in an orderly way, a
// second one the process.
func start() int {
	if bench.IsChild() {
		return bench.ChildMain(os.Stdin, os.Stdout, os.Stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// run executes a command line and returns the exit code. Results go to stdout,
// errors and progress to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	began := false
	root := newRoot(&began)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	fixCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "connwise: %v\n", err)
	if began && !isUsage(err) {
		return exitFailed
	}
	_, _ = fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	return exitUsage
}
