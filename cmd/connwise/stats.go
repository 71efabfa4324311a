package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

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
		Long: `stats fetches the JSON that pool.StatsHandler serves and prints, for each host, what
its pool holds now, what it has done since the host was first used, and why it closed
connections.

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

In the process to look at:

  http.Handle("/debug/connwise", pool.StatsHandler(p)) // a *pool.Transport or *pool.Guard`,
		Example: `  connwise stats http://127.0.0.1:6060/debug/connwise
  connwise stats --json http://127.0.0.1:6060/debug/connwise | jq '.hosts[].idle'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, urls []string) error {
			if timeout <= 0 {
				return &usageError{fmt.Sprintf("stats: --timeout %v: must be more than 0", timeout)}
			}
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
			if _, err = w.Write(body); err != nil {
				err = fmt.Errorf("stats: %w", err)
			}
		default:
			if len(urls) > 1 {
				_, _ = fmt.Fprintln(w, redacted(raw))
			}
			if err = writeStats(w, stats); err != nil {
				err = fmt.Errorf("stats: %w", err)
			}
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
