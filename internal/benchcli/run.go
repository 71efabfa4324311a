package benchcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/connwise/bench"
	"example.com/connwise/internal/cli"
)

// An output is what a run prints.
type output struct {
	json, wide, quiet  bool
	jsonFile, htmlFile string // empty: none
	strict             []string
}

// run runs o and prints what finished, even when the run was interrupted.
func run(cmd *cobra.Command, o bench.Options, out output) error {
	if out.json && out.wide {
		return cli.Usagef("--wide is for the table: --json has everything")
	}
	if err := cli.Positive(cmd, "workers", "burst", "rate", "delay", "rounds", "duration", "idle-timeout", "call-timeout"); err != nil {
		return err
	}
	if err := checkStrict(o, out.strict); err != nil {
		return err
	}
	files, err := reportFiles(out)
	if err != nil {
		return err
	}
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	o.Stderr = stderr
	if notice := o.TargetNotice(); notice != "" { // before anything is sent
		_, _ = fmt.Fprintf(stderr, "%s\n\n", notice)
	}
	progress, done := newProgress(stderr, out.quiet)
	o.Progress = func(s bench.Step) {
		if s.Done == 0 { // not before: the options may be refused
			introduce(introWriter(stdout, stderr, out.json), o)
		}
		progress(s)
	}
	rep, err := bench.Run(cmd.Context(), o)
	done()
	if err != nil && len(rep.Results) == 0 {
		discard(files)
		return interrupted(err, nil)
	}
	rep.Command = commandLine(cmd)
	werr := show(rep, out, stdout)
	for _, f := range files {
		werr = errors.Join(werr, f.save(rep))
	}
	switch {
	case werr != nil:
		return werr
	case err != nil:
		return interrupted(err, rep.Results)
	}
	return errors.Join(unanswered(rep), held(rep, o, out.strict))
}

// show writes what goes to stdout.
func show(rep bench.Report, out output, stdout io.Writer) error {
	write := rep.WriteTable
	switch {
	case out.json:
		write = rep.WriteJSON
	case out.wide:
		write = rep.WriteWideTable
	}
	if err := write(stdout); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return nil
}

// unanswered names the rows without any 2xx answer: their figures are of nothing.
func unanswered(rep bench.Report) error {
	var rows []string
	for _, r := range rep.Results {
		if r.Succeeded() == 0 {
			rows = append(rows, r.Key().String())
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return fmt.Errorf("bench: no call got a 2xx answer in: %s", strings.Join(rows, ", "))
}

func interrupted(err error, rows []bench.Result) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	partial := 0
	for _, r := range rows {
		if r.Partial {
			partial++
		}
	}
	also := ""
	if partial > 0 {
		also = fmt.Sprintf(", %d in part", partial)
	}
	return fmt.Errorf("interrupted; %d rows were complete%s: %w", len(rows)-partial, also, err)
}

func introWriter(stdout, stderr io.Writer, asJSON bool) io.Writer {
	if asJSON {
		return stderr
	}
	return stdout
}

// introduce says how the clients and the proxies are configured.
func introduce(w io.Writer, o bench.Options) {
	var notes [][2]string
	for _, c := range o.Clients {
		notes = append(notes, [2]string{c.Name, c.Note})
	}
	for _, x := range o.Proxies {
		notes = append(notes, [2]string{x.Name, x.Note})
	}
	width := 0
	for _, n := range notes {
		width = max(width, len(n[0])+1)
	}
	for _, n := range notes {
		name := n[0] + ":"
		for _, line := range cli.Wrap(n[1], 108-width) {
			_, _ = fmt.Fprintf(w, "%-*s %s\n", width, name, line)
			name = ""
		}
	}
	_, _ = fmt.Fprintln(w)
}

// IsUsage says whether an error of the command is about the command line, and not of the run.
func IsUsage(err error) bool {
	if _, ok := errors.AsType[*cli.UsageError](err); ok {
		return true
	}
	_, ok := errors.AsType[*bench.UsageError](err)
	return ok
}
