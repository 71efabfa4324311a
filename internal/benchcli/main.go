package benchcli

import (
	"context"
	"io"
	"os"

	"example.com/connwise/bench"
	"example.com/connwise/internal/cli"
)

// Main is the main of a command that has New's: it runs the peer of a bench where this process
// was started for that, and the command line otherwise, and returns the exit code. The first
// signal ends the command in an orderly way, a second one the process.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) int {
	if bench.IsChild() {
		return bench.ChildMain(os.Stdin, os.Stdout, os.Stderr)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}
