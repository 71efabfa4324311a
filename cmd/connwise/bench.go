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
		Short: "Compare HTTP clients under load, bursts, idle timeouts, restarts and GOAWAYs",
		Long: `bench runs connwise and net/http in turn against a faulty server of its own, in a
process of its own, and prints a row for each scenario, protocol and client.

Clients:
` + listHelp(clientNames(), clientNote) + `
Both run in this process, in turns, with the same GOMAXPROCS. --max-conns is
MaxConnsPerHost of both; --max-wait is connwise's alone, as net/http waits for a
connection until the call ends.

Scenarios:
` + listHelp(bench.ScenarioNames(), bench.About) + `
Protocols:
` + listHelp(bench.ProtoNames(), bench.AboutProto) + `
The server has one port for each row and speaks its protocol alone; over HTTP/2 it
takes 128 streams at a time on a connection. An answer by another protocol is a failure.

Columns:
  failed      calls that returned an error
  avoidable   of these, those that the server never executed, by its own record
  twice       calls executed more than once; GETs don't count, they may be repeated
  lost        calls reported as done that the server never executed
  dials       connections that the server accepted
  peak        the most that it had open at one time
  dialled     calls that got a connection which was opened for a call, and not one that
              was ready (burst-warm)
  waves       full waves (burst), and the medians over them of a wave's p50 and p99 in
              microseconds and of its dials; the other latencies are of all waves together
  cpu, allocs of this process, the loop that makes the calls included

Latencies (p50 to p99.9) are those of calls with a 2xx answer, "-" without any. The
command fails when no call of a row got one.

--json prints {"results":[...]} with the same: scenario, proto, client, requests, failed,
avoidable, executed_twice, lost, dials, peak_conns, dialled, p50_us, p99_us, p999_us,
waves, wave_p50_us, wave_p99_us, wave_dials, rps, cpu_us_per_request, allocs_per_request;
null where the table has "-" or leaves a column out.

With --target the load goes to your own server: one GET for each protocol to see that
it's there, and then GETs of the scenario steady; burst runs only when named, nothing
else at all. HTTP/2 is used only where --proto names it.
Each row sends at most --requests (1000 without it), and no request twice: connwise's
retries are off. Burst's waves are as large as --burst and --requests allow; --workers
doesn't bound them. A call that takes longer than --call-timeout (10s without it) has
failed. What the server executed isn't known, and such columns show "-".`,
		Example: `  connwise bench
  connwise bench --scenario idle-race,restart --proto h1s --duration 10s
  connwise bench --scenario goaway --proto h2,h2c
  connwise bench --scenario burst --proto h1s --burst 1000 --delay 200ms --duration 10s --rounds 5
  connwise bench --scenario burst --proto h1s --burst 1000 --max-conns 32 --max-wait 5s
  connwise bench --scenario burst-warm --proto h1s --duration 20s --rounds 1
  connwise bench --scenario steady --workers 64 --json
  connwise bench --target https://staging.example/healthz --workers 2 --requests 50`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			unset(cmd, "rate", &o.Rate)
			unset(cmd, "delay", &o.Delay)
			named(cmd, "scenario", &o.Scenarios)
			named(cmd, "proto", &o.Protos)
			named(cmd, "clients", &clients)
			if o.Clients, err = bench.ClientsNamed(clients...); err != nil {
				return err
			}
			return runBench(cmd, o, asJSON)
		},
	}
	benchFlags(cmd, &o)
	cmd.Flags().StringSliceVar(&clients, "clients", []string{"connwise", "net/http"}, "clients to compare")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	return cmd
}

func benchFlags(cmd *cobra.Command, o *bench.Options) {
	f := cmd.Flags()
	f.StringSliceVar(&o.Scenarios, "scenario", nil, "scenarios to run: "+strings.Join(bench.ScenarioNames(), ",")+" (default all; with --target steady)")
	f.StringSliceVar(&o.Protos, "proto", nil, "protocols: "+strings.Join(bench.ProtoNames(), ",")+" (default all; with --target h1 or h1s)")
	f.StringVar(&o.Target, "target", "", "URL of your own server to load in place of the faulty one")
	f.IntVar(&o.Workers, "workers", 32, "callers at a time, in all scenarios but burst and burst-warm")
	f.IntVar(&o.Burst, "burst", 0, "requests at a time in burst, --requests at most, and in each burst of burst-warm (default 256 and 500)")
	f.IntVar(&o.Rate, "rate", 2000, "requests in a second in burst-warm, beside its bursts")
	f.DurationVar(&o.Delay, "delay", 5*time.Millisecond, "how long the server takes to answer in burst and burst-warm")
	f.IntVar(&o.MaxConns, "max-conns", 0, "most connections of each client at a time (0: no limit)")
	f.DurationVar(&o.MaxWait, "max-wait", 0, "longest wait for one of --max-conns, in connwise; then the call has failed (0: no limit)")
	f.DurationVar(&o.Duration, "duration", 2*time.Second, "how long each row runs")
	f.IntVar(&o.Requests, "requests", 0, "most requests that each row sends (0: with --target 1000, otherwise no bound but the duration)")
	f.DurationVar(&o.CallTimeout, "call-timeout", 10*time.Second, "most time for each call to --target")
	f.IntVar(&o.Rounds, "rounds", 2, "how often the clients take turns in each row")
	f.DurationVar(&o.IdleTimeout, "idle-timeout", 100*time.Millisecond, "the server's idle timeout in idle-race")
}

func clientNames() []string {
	return []string{bench.Connwise().Name, bench.NetHTTP().Name}
}

func clientNote(name string) string {
	cs, _ := bench.ClientsNamed(name) // one of clientNames
	return cs[0].Note
}

// listHelp says of each name what it means.
func listHelp(names []string, about func(string) string) string {
	var b strings.Builder
	for _, name := range names {
		for i, line := range wrap(about(name), 72) {
			if i > 0 {
				name = ""
			}
			_, _ = fmt.Fprintf(&b, "  %-11s %s\n", name, line)
		}
	}
	return b.String()
}

// wrap breaks a text between words into lines of at most width bytes.
func wrap(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// runBench runs o and prints what finished, even when the run was interrupted.
func runBench(cmd *cobra.Command, o bench.Options, asJSON bool) error {
	if err := positive(cmd, "workers", "burst", "rate", "delay", "rounds", "duration", "idle-timeout", "call-timeout"); err != nil {
		return err
	}
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	o.Stderr = stderr
	if notice := o.TargetNotice(); notice != "" { // before anything is sent
		_, _ = fmt.Fprintf(stderr, "%s\n\n", notice)
	}
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
		return fmt.Errorf("bench: %w", werr)
	}
	if err != nil {
		return interrupted(err, len(rep.Results))
	}
	return unanswered(rep)
}

// unanswered names the rows without any 2xx answer: their figures are of nothing.
func unanswered(rep bench.Report) error {
	var rows []string
	for _, r := range rep.Results {
		if r.Succeeded() == 0 {
			rows = append(rows, fmt.Sprintf("%s %s %s", r.Scenario, r.Proto, r.Client))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return fmt.Errorf("bench: no call got a 2xx answer in: %s", strings.Join(rows, ", "))
}

// named makes a list that was given without a name in it one with an empty name,
// which is refused with those that are known.
func named(cmd *cobra.Command, flag string, list *[]string) {
	if len(*list) == 0 && cmd.Flags().Changed(flag) {
		*list = []string{""}
	}
}

// unset makes a flag's default zero, which is Options' own: given explicitly, it may be
// refused where no scenario has it.
func unset[T any](cmd *cobra.Command, flag string, value *T) {
	if !cmd.Flags().Changed(flag) {
		*value = *new(T)
	}
}

// positive refuses zeros that Options would take for "not set".
func positive(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		f := cmd.Flags().Lookup(name)
		if v := f.Value.String(); f.Changed && (v == "0" || v == "0s") {
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

// introduce says how the clients are configured.
func introduce(w io.Writer, o bench.Options) {
	for _, c := range o.Clients {
		_, _ = fmt.Fprintf(w, "%-9s %s\n", c.Name+":", c.Note)
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
