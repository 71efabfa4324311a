package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/connwise/internal/texttable"
	"example.com/connwise/pool"
)

// maxStats bounds the JSON that is read from a process.
const maxStats = 64 << 20

func newStats() *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "stats URL...",
		Short: "Show the connection pools of live processes",
		Long: `stats fetches the JSON that pool.StatsHandler serves and prints a row for each host.

In the process to look at:

  http.Handle("/debug/connwise", pool.StatsHandler(transport))`,
		Example: `  connwise stats http://127.0.0.1:6060/debug/connwise
  connwise stats --json http://127.0.0.1:6060/debug/connwise | jq '.hosts[].idle'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, urls []string) error {
			for _, raw := range urls {
				if err := checkStatsURL(raw); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return printStats(ctx, cmd.OutOrStdout(), urls, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON as it was served")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "most time to take, for all URLs together")
	return cmd
}

func checkStatsURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return &usageError{"stats: that is no URL; give one like http://host:port/path"}
	case u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return &usageError{fmt.Sprintf("stats: %s: give a URL like http://host:port/path", u.Redacted())}
	}
	return nil
}

// printStats prints what can be had; the errors of the other URLs come joined.
func printStats(ctx context.Context, w io.Writer, urls []string, asJSON bool) error {
	var errs []error
	for _, raw := range urls {
		body, stats, err := fetchStats(ctx, raw)
		switch {
		case err != nil:
		case asJSON:
			_, err = w.Write(body)
		default:
			if len(urls) > 1 {
				_, _ = fmt.Fprintln(w, redacted(raw))
			}
			err = writeStats(w, stats)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// fetchStats returns what the URL serves, as it is and decoded. Errors name the
// URL without credentials.
func fetchStats(ctx context.Context, raw string) ([]byte, pool.Stats, error) {
	var stats pool.Stats
	fail := func(err error) ([]byte, pool.Stats, error) {
		return nil, stats, fmt.Errorf("stats: %s: %w", redacted(raw), err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, nil)
	if err != nil {
		return fail(errors.New("not a URL"))
	}
	req.Header.Set("Accept", "application/json")
	tr := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // without the URL, which fail adds
		}
		return fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fail(fmt.Errorf("answered %s, want 200", resp.Status))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStats+1))
	switch {
	case err != nil:
		return fail(err)
	case len(body) > maxStats:
		return fail(fmt.Errorf("more than %d MiB of statistics", maxStats>>20))
	}
	if err := json.Unmarshal(body, &stats); err != nil || stats.Hosts == nil {
		return fail(fmt.Errorf("not the JSON of pool.StatsHandler (Content-Type %q)", resp.Header.Get("Content-Type")))
	}
	return body, stats, nil
}

func redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "..."
	}
	return u.Redacted()
}

var statsColumns = []string{
	"host", "scheme", "idle limit", "from", "open", "idle", "in use", "dialing", "waiting",
	"sent", "failed", "reused", "stale", "replaced", "dials", "dial errors", "closed",
}

func writeStats(w io.Writer, s pool.Stats) error {
	if len(s.Hosts) == 0 {
		_, err := fmt.Fprintln(w, "no hosts in use")
		return err
	}
	rows := make([][]string, len(s.Hosts))
	for i, h := range s.Hosts {
		rows[i] = statsRow(h)
	}
	return texttable.Write(w, statsColumns, rows, 4)
}

func statsRow(h pool.HostStats) []string {
	limit := "-"
	if h.IdleLimit > 0 {
		limit = h.IdleLimit.String()
	}
	host := h.Host
	if h.Proxy != "" {
		host += " via " + h.Proxy
	}
	row := []string{host, h.Scheme, limit, h.IdleLimitSource}
	for _, n := range []int{h.Open, h.Idle, h.InUse, h.Dialing, h.Waiting} {
		row = append(row, strconv.Itoa(n))
	}
	for _, n := range []uint64{h.Sent, h.Failed, h.Reused, h.Stale, h.Replaced, h.Dials, h.DialsFailed, h.Closed} {
		row = append(row, strconv.FormatUint(n, 10))
	}
	return row
}
