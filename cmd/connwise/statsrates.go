package main

import (
	"fmt"
	"strings"
	"time"

	"example.com/connwise/pool"
)

// A watched is a process that is asked again and again.
type watched struct {
	last  *fetched  // the last answer; nil: none yet
	down  time.Time // since when it can't be asked; zero: it can
	began time.Time // when its counters were last found to have gone back; zero: never
}

// restartShown is for how long a restart is told of.
const restartShown = time.Minute

// note says what is to be said of the process, which has given f; nothing if all is well.
func (p *watched) note(f *fetched) string {
	switch {
	case f.err != nil:
		return fmt.Sprintf("down for %v: %v", f.at.Sub(p.down).Round(time.Second), strings.TrimPrefix(f.err.Error(), "stats: "))
	case !p.began.IsZero() && f.at.Sub(p.began) < restartShown:
		return fmt.Sprintf("restarted %v ago: %s", f.at.Sub(p.began).Round(time.Second), redacted(f.url))
	}
	return ""
}

// take takes the process's next answer, and returns the rates of its hosts since the one before,
// which is longer ago if it couldn't be asked in between. It returns nil if there was none.
func (p *watched) take(f *fetched) map[hostKey][]float64 {
	if f.err != nil {
		if p.down.IsZero() {
			p.down = f.at
		}
		return nil
	}
	p.down = time.Time{}
	before := p.last
	p.last = f
	if before == nil {
		return nil
	}
	if f.stats.Total.Restarted(&before.stats.Total) {
		p.began = f.at
	}
	took := f.at.Sub(before.at).Seconds()
	old := totalsByHost(before.stats.Hosts)
	rates := make(map[hostKey][]float64)
	for key, now := range totalsByHost(f.stats.Hosts) {
		rates[key] = ratesOf(old[key], now, took)
	}
	return rates
}

// totalsByHost sums the entries of one name.
func totalsByHost(hosts []pool.HostStats) map[hostKey]*pool.Totals {
	all := make(map[hostKey]*pool.Totals, len(hosts))
	for i := range hosts {
		key := keyOfHost(&hosts[i])
		if all[key] == nil {
			all[key] = new(pool.Totals)
		}
		all[key].Add(&hosts[i].Totals)
	}
	return all
}

// ratesOf is what was counted per second. Counters of a host that is new, or that went back, as
// in a process that was restarted, began at zero in between.
func ratesOf(before, now *pool.Totals, seconds float64) []float64 {
	if seconds <= 0 {
		return nil
	}
	if before == nil || now.Restarted(before) {
		before = new(pool.Totals)
	}
	rates := make([]float64, len(statsCounters))
	for i, c := range statsCounters {
		rates[i] = float64(c.of(now)-c.of(before)) / seconds
	}
	return rates
}

// addRates adds those of one process to the fleet's hosts.
func (f *fleet) addRates(rates map[hostKey][]float64) {
	for _, h := range f.hosts {
		mine := rates[keyOfHost(&h.HostStats)]
		if mine == nil {
			continue
		}
		if h.rates == nil {
			h.rates = make([]float64, len(mine))
		}
		for i, r := range mine {
			h.rates[i] += r
		}
	}
}
