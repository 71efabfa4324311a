package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/connwise/internal/cli"
)

// leastWatch is the shortest interval of --watch: each sample asks every process.
const leastWatch = 100 * time.Millisecond

// statsOptions are the flags of stats.
type statsOptions struct {
	asJSON  bool
	timeout time.Duration // of one sample
	watch   time.Duration // zero: once
	sort    string        // a key of statsKeys
}

func newStats() *cobra.Command {
	var opts statsOptions
	cmd := &cobra.Command{
		Use:   "stats URL...",
		Short: "Show the connection pools of live processes",
		Long: `stats fetches the JSON that pool.StatsHandler serves and prints, for each host, what
its pool holds now, what it has done since the host was first used, and why it closed
connections. With several URLs, those of a fleet, it sums what they say of each host, and
"procs" is how many of them know it.

  set by     where the idle limit comes from: configured, announced (by the server's
             Keep-Alive header), learnt (from the ages at which the server closed idle
             connections), transport (Base.IdleConnTimeout) or none
  failed     calls to the pool that ended in an error; a retry over it may have made them good
  reused     requests sent on a connection that had carried one before
  stale      idle connections found dead by the look before reuse
  replaced   requests sent again silently: their connection took no byte, or the peer
             refused them (HTTP/2)
  dial errs  dials that ended in an error
  waited     requests that waited for capacity or a dial
  timed out  requests that waited too long, or found too many waiting

A third table has the HTTP/2 connections: requests that hold a stream, how many the server
takes, whether it said GOAWAY (or "suspect": a PING is to show whether it is there), the last
PING's round trip, and the PINGs sent. The lines below tell why connections were closed, how
the server closed idle ones (fin, reset, close_notify, 408, surplus or goaway), and after how
long it does, if that was learnt (the idle limit is that less a margin), and how many dials no
request had asked for: Warm's, those of MinIdlePerHost, and of successors for connections that
were about to go.

--watch asks again and again, and shows what is counted per second since the sample before. On
a terminal it draws over the last table, as many hosts as there is room for (--sort decides
which), until q or Ctrl-C; into a pipe it writes one table after the other. A process that
can't be asked is shown as down, and one that was restarted counts from its start.

The exit code is 0 if all processes could be asked, or --watch was ended; 1 if some couldn't,
with what the others said printed; 2 if the command line makes no sense.

In the process to look at:

  http.Handle("/debug/connwise", pool.StatsHandler(p)) // a *pool.Transport or *pool.Guard

A browser gets a page from there.`,
		Example: `  connwise stats http://127.0.0.1:6060/debug/connwise
  connwise stats --watch --sort waiting http://web-1:6060/debug/connwise http://web-2:6060/debug/connwise
  connwise stats --json http://127.0.0.1:6060/debug/connwise | jq '.hosts[].idle'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, urls []string) error {
			if err := opts.check(cmd.Flags().Changed("watch"), urls); err != nil {
				return err
			}
			if opts.watch > 0 {
				return watchOn(cmd.Context(), cmd.OutOrStdout(), urls, &opts)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), opts.timeout)
			defer cancel()
			return printStats(ctx, cmd.OutOrStdout(), urls, &opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.asJSON, "json", false, "print the JSON as it was served; of several URLs an array of {url, stats} or {url, error}")
	flags.DurationVar(&opts.timeout, "timeout", 5*time.Second, "most time to take, for all URLs together")
	flags.DurationVar(&opts.watch, "watch", 0, "ask again and again, and show rates; --watch=10s: how often")
	flags.Lookup("watch").NoOptDefVal = "2s"
	flags.StringVar(&opts.sort, "sort", "host", "what to sort by, the most first, with --watch by the rate if it is counted: "+strings.Join(statsKeys(), ", "))
	return cmd
}

func (o *statsOptions) check(watch bool, urls []string) error {
	switch {
	case o.timeout <= 0:
		return cli.Usagef("stats: --timeout %v: must be more than 0", o.timeout)
	case watch && o.watch < leastWatch:
		return cli.Usagef("stats: --watch=%v: must be at least %v", o.watch, leastWatch)
	case watch && o.asJSON:
		return &cli.UsageError{Text: "stats: --watch and --json: choose one of them"}
	}
	if err := checkStatsKey(o.sort); err != nil {
		return err
	}
	for _, raw := range urls {
		if err := checkStatsURL(raw); err != nil {
			return err
		}
	}
	return nil
}

func checkStatsURL(raw string) error {
	if _, err := time.ParseDuration(raw); err == nil {
		return cli.Usagef("stats: %s is no URL; an interval is written --watch=%[1]s", raw)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return &cli.UsageError{Text: "stats: that is no URL; give one like http://host:port/path"}
	case u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return cli.Usagef("stats: %s: give a URL like http://host:port/path", u.Redacted())
	}
	return nil
}

// printStats prints what can be had; the errors of the other URLs come joined.
func printStats(ctx context.Context, w io.Writer, urls []string, opts *statsOptions) error {
	all := fetchAll(ctx, urls)
	failed := joinErrors(all)
	var err error
	switch {
	case opts.asJSON:
		err = writeJSON(w, all)
	default:
		f := newFleet(all)
		if f.processes == 0 {
			break
		}
		f.sort(opts.sort)
		err = writePrintable(w, func(w io.Writer) error { return writeStats(w, f) })
	}
	if err != nil {
		err = fmt.Errorf("stats: %w", err)
	}
	return errors.Join(failed, err)
}

// writeJSON writes one process's JSON as it was served, and that of several in an array with
// their URLs.
func writeJSON(w io.Writer, all []fetched) error {
	if len(all) == 1 {
		_, err := w.Write(all[0].body)
		return err
	}
	type entry struct {
		URL   string          `json:"url"`
		Error string          `json:"error,omitempty"`
		Stats json.RawMessage `json:"stats,omitempty"`
	}
	entries := make([]entry, len(all))
	for i, f := range all {
		entries[i] = entry{URL: redacted(f.url), Stats: f.body}
		if f.err != nil {
			entries[i].Error = cmp.Or(errors.Unwrap(f.err), f.err).Error()
		}
	}
	b, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
