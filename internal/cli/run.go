package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1 // something went wrong at run time
	ExitUsage  = 2 // the command line makes no sense
)

// Interruptible returns a context that the first SIGINT or SIGTERM ends. A second one ends
// the process. The returned function ends the context too, and is to be called.
func Interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Run executes a command line and returns the exit code. Results go to stdout, errors and
// progress to stderr. An error before the flags and arguments of a command were accepted
// is one of usage, and so is what isUsage knows.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer, isUsage func(error) bool) int {
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	_, _ = fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
	if began && !isUsage(err) {
		return ExitFailed
	}
	_, _ = fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	return ExitUsage
}
