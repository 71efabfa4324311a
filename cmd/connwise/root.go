package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"example.com/connwise/bench"
	"example.com/connwise/internal/probe"
)

// newRoot returns the command tree. began is set once the flags and arguments of a
// subcommand were accepted: an error before that is one of usage.
func newRoot(began *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "connwise",
		Short: "HTTP connections that outlive their proxy: benchmarks, measurements, pool statistics, retry policies",
		Long: `connwise compares HTTP clients under what proxies do to connections, measures what a
server or proxy does to them, shows the connection pools of a live process, and prints
which failures are retried.`,
		Example: `  connwise bench --scenario idle-race --proto h1
  connwise probe https://api.example/healthz
  connwise stats http://127.0.0.1:6060/debug/connwise
  connwise policy once`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRun:  func(*cobra.Command, []string) { *began = true },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetHelpCommand(newHelp())
	root.AddCommand(newBench(), newProbe(), newStats(), newPolicy(), newProxy())
	return root
}

// newHelp replaces cobra's help command, for which an unknown name is no error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return &usageError{fmt.Sprintf("help: unknown command %q", strings.Join(args, " "))}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// noArgs refuses arguments in words of its own: cobra's call them unknown commands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Sprintf("%s takes no arguments, got %q", cmd.Name(), args[0])}
	}
	return nil
}

// A usageError is a mistake on the command line that cobra doesn't know of.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func isUsage(err error) bool {
	if _, ok := errors.AsType[*usageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*probe.UsageError](err); ok {
		return true
	}
	_, ok := errors.AsType[*bench.UsageError](err)
	return ok || isSettings(err)
}

// version tells what this binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += fmt.Sprintf(" (%.12s)", s.Value)
		}
	}
	return v + " " + info.GoVersion
}
