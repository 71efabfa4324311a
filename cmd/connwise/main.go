// Command connwise is a reverse proxy on the library's connections and retries, runs benchmarks
// of HTTP clients under what proxies do to them, shows the pool statistics of live processes,
// and prints the retry policies.
package main

import (
	"context"
	"io"
	"os"

	"example.com/connwise/internal/benchcli"
	"example.com/connwise/internal/cli"
)

// Exit codes.
const (
	exitOK     = cli.ExitOK
	exitFailed = cli.ExitFailed
	exitUsage  = cli.ExitUsage
)

func main() { os.Exit(benchcli.Main(run)) }

// run executes a command line and returns the exit code. Results go to stdout,
// errors and progress to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetOut(stdout)
	fixCompletion(root)
	return cli.Run(ctx, root, args, stdout, stderr, isUsage)
}
