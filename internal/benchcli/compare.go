package benchcli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"example.com/connwise/bench"
	"example.com/connwise/internal/benchdiff"
	"example.com/connwise/internal/cli"
)

// compareHelp tells how reports are compared.
const compareHelp = `compare reads two reports of bench (--json or --out), of a run before a change and of one
after it, and says of each figure that both have whether it is better in B, worse, without a
difference that could be seen (same), or not to be told (unknown), mostly for want of rounds.
"-" is standard input.

Rows are paired by scenario, protocol, client, size, load and proxy, and their figures compared by
the Mann-Whitney U test of their rounds, as benchstat does. CPU per request, latency and rate
depend on the machine: where net/http was run beside a client in both, its figures are divided by
net/http's in the same round first, so that a machine that was busier doesn't decide. net/http's
own rows then tell how the machine was, and count for nothing; where they changed in the other
direction than such a ratio, and the client's own figure didn't for sure, it can't be told.

--alpha is the share of the differences told that may be chance, over all figures together
(Benjamini and Hochberg): where nothing has changed, a comparison of all of them tells of a
difference in one of twenty cases, and not of one in twenty figures. --least is the least change
that counts: two runs of the same program differ by that much.

Calls avoidably failed, executed twice or lost must be 0: where A has none and B has one, B is
worse, and no statistics are asked. More dials are worse if their number and their share of the
requests are higher.

B/A is the median of the ratios of all pairs of rounds, and the interval around it that the test
gives for this figure alone. p is the test's for this figure alone.

More rounds tell more: with 3, bench's default, a difference can't be told from chance at all. Five
tell of a change that shows in most rows, ten of one that shows in a single figure.`

// newCompare returns the command that compares two reports.
func newCompare() *cobra.Command {
	var o benchdiff.Options
	var asJSON, all, failOnWorse bool
	cmd := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Tell what is better or worse in a second run of bench from what is noise",
		Long:  compareHelp,
		Example: `  connwise bench --scenario steady,restart --rounds 10 --duration 10s --out before.json
  connwise bench --scenario steady,restart --rounds 10 --duration 10s --out after.json
  connwise bench compare before.json after.json
  connwise bench compare before.json after.json --clients connwise --fail-on-worse`,
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := compare(cmd, args, o)
			if err != nil {
				return err
			}
			if asJSON {
				err = c.WriteJSON(cmd.OutOrStdout())
			} else {
				err = c.WriteTable(cmd.OutOrStdout(), all)
			}
			if err != nil {
				return fmt.Errorf("compare: %w", err)
			}
			return verdict(c, failOnWorse)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON instead of a table, with all figures")
	f.BoolVar(&all, "all", false, "list the figures without a difference, and those that can't be told, too")
	f.BoolVar(&failOnWorse, "fail-on-worse", false, "exit with 1 if a figure is worse, or if there is none to compare")
	f.StringSliceVar(&o.Clients, "clients", nil, "clients to compare, by name (default all)")
	f.Float64Var(&o.Alpha, "alpha", 0.05, "share of the differences told that may be chance")
	f.Float64Var(&o.Least, "least", 0.02, "least change that counts, as a share of the figure")
	return cmd
}

func compare(cmd *cobra.Command, args []string, o benchdiff.Options) (benchdiff.Comparison, error) {
	var none benchdiff.Comparison
	switch {
	case !(o.Alpha >= 1e-6 && o.Alpha <= 0.5):
		return none, cli.Usagef("--alpha must be 0.000001 to 0.5")
	case !(o.Least >= 0 && o.Least <= 10):
		return none, cli.Usagef("--least must be 0 to 10")
	case args[0] == "-" && args[1] == "-":
		return none, cli.Usagef("only one of the reports can be standard input")
	}
	var reports [2]bench.Report
	for i, name := range args {
		var err error
		if reports[i], err = readReport(cmd.InOrStdin(), name); err != nil {
			return none, cli.Usagef("%s: %v", name, err)
		}
	}
	for _, name := range o.Clients {
		if !hasClient(reports[0], name) && !hasClient(reports[1], name) {
			return none, cli.Usagef("--clients: no row of the reports is of %q", name)
		}
	}
	return benchdiff.Compare(reports[0], reports[1], args[0], args[1], o), nil
}

func hasClient(rep bench.Report, name string) bool {
	return slices.ContainsFunc(rep.Results, func(r bench.Result) bool { return r.Client == name })
}

func readReport(stdin io.Reader, name string) (bench.Report, error) {
	if name == "-" {
		return bench.ReadReport(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return bench.Report{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return bench.ReadReport(f)
}

// verdict makes an error of what is worse, where that is asked.
func verdict(c benchdiff.Comparison, failOnWorse bool) error {
	worse := c.Count(benchdiff.Worse)
	switch {
	case !failOnWorse:
		return nil
	case len(c.Changes) == 0:
		return errors.New("compare: the reports have no figure in common")
	case worse > 0:
		return fmt.Errorf("compare: figures that are worse: %d", worse)
	}
	return nil
}
