package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"example.com/connwise/bench"
	"example.com/connwise/internal/benchcli"
	"example.com/connwise/internal/cli"
	"example.com/connwise/internal/probe"
)

// newRoot returns the command tree.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "connwise",
		Short: "HTTP connections that outlive their proxy: a sidecar, benchmarks, measurements, pool statistics, retry policies",
		Long: `connwise runs a reverse proxy whose connections and retries are those of the library,
compares HTTP clients under what proxies do to connections, measures what a server or proxy
does to them, shows the connection pools of live processes, and prints which failures are
retried.`,
		Example: `  connwise bench --scenario idle-race --proto h1
  connwise probe https://api.example/healthz
  connwise stats http://127.0.0.1:6060/debug/connwise
  connwise policy once
  connwise proxy --upstream https://api.example`,
		Version: version(),
	}
	root.SetHelpCommand(newHelp())
	root.AddCommand(benchcli.New(bench.DefaultClients()...), newProbe(), newStats(), newPolicy(), newProxy(), newMan())
	return root
}

// fixCompletion makes cobra's completion command refuse a shell that it doesn't know. It comes behind
// SetOut, as that command keeps the root's output.
func fixCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra's default has gone
	}
	cmd.Example = "  connwise completion bash > /etc/bash_completion.d/connwise"
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return cli.Usagef("completion: unknown shell %q; known: bash, fish, powershell, zsh", args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// newHelp replaces cobra's help command, for which an unknown name is no error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cli.Usagef("help: unknown command %q", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func isUsage(err error) bool {
	if _, ok := errors.AsType[*probe.UsageError](err); ok {
		return true
	}
	return benchcli.IsUsage(err) || isSettings(err)
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
