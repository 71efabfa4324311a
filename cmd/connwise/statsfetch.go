package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"example.com/connwise/pool"
)

// maxStats bounds the JSON that is read from a process.
const maxStats = 64 << 20

// A fetched is what a process answered.
type fetched struct {
	url   string // as it was given: with credentials
	body  []byte // as it was served
	stats pool.Stats
	at    time.Time
	err   error // names the URL without credentials
}

// fetchAll asks all processes at once, and returns their answers in the order of the URLs.
func fetchAll(ctx context.Context, urls []string) []fetched {
	all := make([]fetched, len(urls))
	var wg sync.WaitGroup
	for i, raw := range urls {
		wg.Go(func() {
			f := fetched{url: raw}
			f.body, f.stats, f.err = fetchStats(ctx, raw)
			f.at = time.Now()
			all[i] = f
		})
	}
	wg.Wait()
	return all
}

// joinErrors joins the errors of those that failed; nil if none did.
func joinErrors(all []fetched) error {
	var errs []error
	for _, f := range all {
		errs = append(errs, f.err)
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
