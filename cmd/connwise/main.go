// Command connwise is a reverse proxy on the library's connections and retries, runs benchmarks
// of HTTP clients under what proxies do to them, shows the pool statistics of live processes,
// and prints the retry policies.
package main

import (
	"context"
	"io"
	"os"

	"example.com/connwise/bench"
	"example.com/connwise/internal/cli"
)

// Exit codes.
const (
	exitOK     = cli.ExitOK
	exitFailed = cli.ExitFailed
	exitUsage  = cli.ExitUsage
)

func main() { os.Exit(start()) }

// start runs the peer of a bench where this process was started for that, and the
// command line otherwise. The first signal ends the command in an orderly way, a
// second one the process.
func start() int {
	if bench.IsChild() {
		return bench.ChildMain(os.Stdin, os.Stdout, os.Stderr)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// run executes a command line and returns the exit code. Results go to stdout,
// errors and progress to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetOut(stdout)
	fixCompletion(root)
	return cli.Run(ctx, root, args, stdout, stderr, isUsage)
}
