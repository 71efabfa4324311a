package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"example.com/connwise/bench"
)

func newBench() *cobra.Command {
	var o bench.Options
	var clients []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Compare HTTP clients under load, bursts, idle timeouts and restarts",
		Long: `bench runs connwise and net/http in turn against a faulty server of its own, in a
process of its own, and prints a row for each scenario, protocol and client.

Scenarios:
` + scenarioHelp() + `
Protocols: h1 is HTTP/1.1, h1s the same over TLS.

Columns:
  failed      calls that returned an error
  avoidable   of these, those that the server never executed, by its own record
  twice       calls executed more than once; GETs don't count, they may be repeated
  lost        calls reported as done that the server never executed
  dials       connections that the server accepted
  cpu, allocs of this process, the loop that makes the calls included

With --target the load goes to your own server: GET requests of the scenarios steady
and burst, nothing else. Its record isn't known, and such columns show "-".`,
		Example: `  connwise bench
  connwise bench --scenario idle-race,restart --proto h1s --duration 10s
  connwise bench --scenario steady --workers 64 --json
  connwise bench --target https://staging.example/healthz --workers 4 --requests 500`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Clients, err = bench.ClientsNamed(clients...); err != nil {
				return err
			}
			return runBench(cmd, o, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Scenarios, "scenario", nil, "scenarios to run: "+strings.Join(bench.ScenarioNames(), ",")+" (default all)")
	f.StringSliceVar(&o.Protos, "proto", nil, "protocols: "+strings.Join(bench.ProtoNames(), ",")+" (default all)")
	f.StringSliceVar(&clients, "clients", []string{"connwise", "net/http"}, "clients to compare")
	f.StringVar(&o.Target, "target", "", "URL of your own server to load in place of the faulty one")
	f.IntVar(&o.Workers, "workers", 32, "callers at a time")
	f.IntVar(&o.Burst, "burst", 256, "requests in each wave of burst")
	f.DurationVar(&o.Duration, "duration", 2*time.Second, "how long each row runs")
	f.IntVar(&o.Requests, "requests", 0, "most requests of each row (0: no bound but the duration)")
	f.IntVar(&o.Rounds, "rounds", 2, "how often the clients take turns in each row")
	f.DurationVar(&o.IdleTimeout, "idle-timeout", 100*time.Millisecond, "the server's idle timeout in idle-race")
	f.BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	return cmd
}

func scenarioHelp() string {
	var b strings.Builder
	for _, name := range bench.ScenarioNames() {
		_, _ = fmt.Fprintf(&b, "  %-11s %s\n", name, bench.About(name))
	}
	return b.String()
}

// runBench runs o and prints what finished, even when the run was interrupted.
func runBench(cmd *cobra.Command, o bench.Options, asJSON bool) error {
	if err := positive(cmd, "workers", "burst", "rounds", "duration", "idle-timeout"); err != nil {
		return err
	}
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	o.Stderr = stderr
	progress, done := newProgress(stderr)
	o.Progress = func(s bench.Step) {
		if s.Done == 0 { // not before: the options may be refused
			introduce(introWriter(stdout, stderr, asJSON), o)
		}
		progress(s)
	}
	rep, err := bench.Run(cmd.Context(), o)
	done()
	if err != nil && len(rep.Results) == 0 {
		return interrupted(err, 0)
	}
	write := rep.WriteTable
	if asJSON {
		write = rep.WriteJSON
	}
	if werr := write(stdout); werr != nil {
		return werr
	}
	return interrupted(err, len(rep.Results))
}

// positive refuses zeros that Options would take for "not set".
func positive(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if v := cmd.Flags().Lookup(name).Value.String(); v == "0" || v == "0s" {
			return &usageError{fmt.Sprintf("--%s must be more than 0", name)}
		}
	}
	return nil
}

func interrupted(err error, rows int) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted; %d rows were complete: %w", rows, err)
	}
	return err
}

func introWriter(stdout, stderr io.Writer, asJSON bool) io.Writer {
	if asJSON {
		return stderr
	}
	return stdout
}

// introduce says how the clients are configured, and what a target is sent.
func introduce(w io.Writer, o bench.Options) {
	for _, c := range o.Clients {
		_, _ = fmt.Fprintf(w, "%-9s %s\n", c.Name+":", c.Note)
	}
	if o.Target != "" {
		_, _ = fmt.Fprintln(w, o.TargetNotice())
	}
	_, _ = fmt.Fprintln(w)
}

// newProgress returns a function that shows progress, if stderr is a terminal, and
// one that clears it away.
func newProgress(stderr io.Writer) (show func(bench.Step), done func()) {
	f, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(bench.Step) {}, func() {}
	}
	var bar *progressbar.ProgressBar
	show = func(s bench.Step) {
		if bar == nil {
			bar = progressbar.NewOptions(s.Total,
				progressbar.OptionSetWriter(stderr),
				progressbar.OptionClearOnFinish(),
				progressbar.OptionShowCount(),
				progressbar.OptionSetPredictTime(false))
		}
		bar.Describe(fmt.Sprintf("%-9s %-3s %-9s", s.Scenario, s.Proto, s.Client))
		_ = bar.Set(s.Done)
	}
	done = func() {
		if bar != nil {
			_ = bar.Finish()
		}
	}
	return show, done
}
