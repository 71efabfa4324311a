// Package benchcli is the command line of package bench, for the commands that differ by
// the clients which they know.
package benchcli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/connwise/bench"
	"example.com/connwise/internal/benchproxy"
	"example.com/connwise/internal/cli"
)

// New returns the command "bench" for these clients. It fails with a *bench.UsageError or a
// *cli.UsageError where the command line makes no sense. The caller's main has to give
// bench.ChildMain its chance.
func New(known ...bench.Client) *cobra.Command {
	var o bench.Options
	var clients, proxies []string
	var out output
	var load string
	names := make([]string, len(known))
	for i, c := range known {
		names[i] = c.Name
	}
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Compare HTTP clients under load, bursts, idle timeouts, restarts and GOAWAYs",
		Long:    longHelp(known, names),
		Example: examples,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			cli.Unset(cmd, "workers", &o.Workers)
			cli.Unset(cmd, "idle-timeout", &o.IdleTimeout)
			cli.Unset(cmd, "rate", &o.Rate)
			cli.Unset(cmd, "delay", &o.Delay)
			cli.Unset(cmd, "duration", &o.Duration)
			cli.Unset(cmd, "rounds", &o.Rounds)
			cli.Unset(cmd, "call-timeout", &o.CallTimeout)
			cli.Named(cmd, "scenario", &o.Scenarios)
			cli.Named(cmd, "proto", &o.Protos)
			cli.Named(cmd, "clients", &clients)
			cli.Named(cmd, "proxy", &proxies)
			cli.Named(cmd, "strict", &out.strict)
			if o.Proxies, err = benchproxy.Named(proxies...); err != nil {
				return err
			}
			if o.Clients, err = bench.ClientsNamed(compared(known, o), clients...); err != nil {
				return err
			}
			if o.Load, err = bench.ParseLoad(load); err != nil {
				return err
			}
			return run(cmd, o, out)
		},
	}
	benchFlags(cmd, &o)
	cmd.Flags().StringVar(&load, "load", "closed", "when requests are made: closed, or constant:RATE, poisson:RATE, bursts:RATE+N/PERIOD, ramp:RATE-RATE, replay:FILE")
	cmd.Flags().StringSliceVar(&clients, "clients", nil, "clients to compare: "+strings.Join(names, ",")+" (default all)")
	cmd.Flags().StringSliceVar(&proxies, "proxy", nil, "real proxies between clients and server: "+strings.Join(benchproxy.Names(), ","))
	cmd.Flags().StringSliceVar(&out.strict, "strict", nil, "fail unless rows of these clients have nothing avoidable, twice, lost, damaged or against RFC 9113, and all of --requests")
	cmd.Flags().BoolVar(&out.json, "json", false, "print JSON instead of a table")
	cmd.Flags().StringVar(&out.jsonFile, "out", "", "also write the JSON to this file")
	cmd.Flags().StringVar(&out.htmlFile, "html", "", "also write a page with plots to this file")
	_ = cmd.MarkFlagFilename("out", "json") // both flags are there
	_ = cmd.MarkFlagFilename("html", "html")
	cmd.AddCommand(newCompare())
	cmd.Flags().BoolVar(&out.wide, "wide", false, "print one table with all columns, wider than most terminals")
	cmd.Flags().BoolVar(&out.quiet, "quiet", false, "show no progress")
	return cmd
}

func benchFlags(cmd *cobra.Command, o *bench.Options) {
	f := cmd.Flags()
	f.StringSliceVar(&o.Scenarios, "scenario", nil, "scenarios to run: "+strings.Join(bench.ScenarioNames(), ",")+" (default some; with --target steady)")
	f.StringSliceVar(&o.Protos, "proto", nil, "protocols: "+strings.Join(bench.ProtoNames(), ",")+" (default some; with --scenario all; with --target h1 or h1s)")
	f.BoolVar(&o.All, "all", false, "run every scenario over every protocol")
	f.StringVar(&o.Target, "target", "", "URL of your own server to load in place of the faulty one")
	f.IntVar(&o.Workers, "workers", 0, "callers at a time, in all scenarios but the bursts and queue (default 32, and 4 in download and upload)")
	f.Uint64Var(&o.Seed, "seed", 0, "what the random times of --load poisson come from: the same seed, the same times (default a new one)")
	f.IntVar(&o.Burst, "burst", 0, "requests at a time in burst, --requests at most, and in each burst of burst-warm and burst-limit (default 256 and 500)")
	f.IntVar(&o.Rate, "rate", 2000, "requests in a second in burst-warm and burst-limit, beside their bursts")
	f.DurationVar(&o.Delay, "delay", 0, "how long the server takes to answer in the bursts and in queue (default 5ms, and 20ms in queue)")
	f.IntVar(&o.MaxSize, "max-size", 0, "largest size of idle-conns and hosts (0: all of them)")
	f.IntVar(&o.MaxConns, "max-conns", 0, "most connections of each client at a time; over HTTP/2 in burst-limit and queue streams of the one connection (0: no limit, in burst-limit 64, in queue 16)")
	f.DurationVar(&o.MaxWait, "max-wait", 0, "longest wait for one of --max-conns, in clients that have such a limit; then the call has failed (0: no limit, in burst-limit and queue 5s)")
	f.DurationVar(&o.Duration, "duration", 2*time.Second, "how long each row runs; without --scenario and --target what makes the run end within a minute, or five with --all; with --requests until these are made")
	f.IntVar(&o.Requests, "requests", 0, "how many requests each row sends; with --duration or --target at most (0: with --target 1000, otherwise no bound but the duration)")
	f.DurationVar(&o.CallTimeout, "call-timeout", 10*time.Second, "most time for each call to --target")
	f.IntVar(&o.Rounds, "rounds", 3, "how often the clients take turns in each row (with --proxy 2)")
	f.DurationVar(&o.IdleTimeout, "idle-timeout", 100*time.Millisecond, "the server's idle timeout in idle-race and silent, or the proxies' (with --proxy 1s)")
}

// compared are the clients that can be in a run: behind proxies those that have a row there,
// and one more.
func compared(known []bench.Client, o bench.Options) []bench.Client {
	if len(o.Proxies) == 0 {
		return known
	}
	return append(slices.DeleteFunc(slices.Clone(known), func(c bench.Client) bool {
		return !bench.RunsProxied(c)
	}), bench.ConnwiseConfirming())
}

func noteOf(known []bench.Client, name string) string {
	i := slices.IndexFunc(known, func(c bench.Client) bool { return c.Name == name })
	return known[i].Note
}

// listHelp says of each name what it means.
func listHelp(names []string, about func(string) string) string {
	var b strings.Builder
	width := 11
	for _, name := range names {
		width = max(width, len(name))
	}
	for _, name := range names {
		for i, line := range cli.Wrap(about(name), 83-width) {
			if i > 0 {
				name = ""
			}
			_, _ = fmt.Fprintf(&b, "  %-*s %s\n", width, name, line)
		}
	}
	return b.String()
}
