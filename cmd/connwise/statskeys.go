package main

import (
	"cmp"
	"slices"
	"strings"

	"example.com/connwise/internal/cli"
	"example.com/connwise/pool"
)

// A statsGauge is a column of what there is now.
type statsGauge struct {
	name string
	of   func(*pool.HostStats) int
}

// A statsCounter is a column of what was counted.
type statsCounter struct {
	name string
	of   func(*pool.Totals) uint64
}

var (
	statsGauges = []statsGauge{
		{"open", func(h *pool.HostStats) int { return h.Open }},
		{"idle", func(h *pool.HostStats) int { return h.Idle }},
		{"in use", func(h *pool.HostStats) int { return h.InUse }},
		{"dialing", func(h *pool.HostStats) int { return h.Dialing }},
		{"waiting", func(h *pool.HostStats) int { return h.Waiting }},
	}
	statsCounters = []statsCounter{
		{"sent", func(t *pool.Totals) uint64 { return t.Sent }},
		{"failed", func(t *pool.Totals) uint64 { return t.Failed }},
		{"reused", func(t *pool.Totals) uint64 { return t.Reused }},
		{"stale", func(t *pool.Totals) uint64 { return t.Stale }},
		{"replaced", func(t *pool.Totals) uint64 { return t.Replaced }},
		{"dials", func(t *pool.Totals) uint64 { return t.Dials }},
		{"dial errs", func(t *pool.Totals) uint64 { return t.DialsFailed }},
		{"waited", func(t *pool.Totals) uint64 { return t.Waited }},
		{"timed out", func(t *pool.Totals) uint64 { return t.WaitTimeouts }},
		{"closed", func(t *pool.Totals) uint64 { return t.Closed }},
	}
)

// keyOf is a column's name as --sort has it.
func keyOf(name string) string { return strings.ReplaceAll(name, " ", "-") }

// statsKeys are what --sort takes.
func statsKeys() []string {
	keys := []string{"host"}
	for _, g := range statsGauges {
		keys = append(keys, keyOf(g.name))
	}
	for _, c := range statsCounters {
		keys = append(keys, keyOf(c.name))
	}
	return keys
}

func checkStatsKey(key string) error {
	if !slices.Contains(statsKeys(), key) {
		return cli.Usagef("stats: --sort %q: known are %s", key, strings.Join(statsKeys(), ", "))
	}
	return nil
}

// sort puts the hosts with the most first; those with the same, and all of them by "host", are
// in the order of their names.
func (f *fleet) sort(key string) {
	more := func(a, b *fleetHost) int { return 0 }
	for _, g := range statsGauges {
		if keyOf(g.name) == key {
			more = func(a, b *fleetHost) int { return cmp.Compare(g.of(&b.HostStats), g.of(&a.HostStats)) }
		}
	}
	for i, c := range statsCounters {
		if keyOf(c.name) == key {
			more = func(a, b *fleetHost) int {
				return cmp.Or(cmp.Compare(b.rate(i), a.rate(i)), cmp.Compare(c.of(&b.Totals), c.of(&a.Totals)))
			}
		}
	}
	slices.SortStableFunc(f.hosts, func(a, b *fleetHost) int {
		return cmp.Or(more(a, b), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Proxy, b.Proxy))
	})
}
