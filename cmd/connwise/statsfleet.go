package main

import (
	"cmp"
	"strings"
	"time"

	"example.com/connwise/pool"
)

// A fleet is what one or several processes say of their hosts.
type fleet struct {
	processes int // that answered
	merged    bool
	hosts     []*fleetHost
}

// A fleetHost is a host in all processes that know it: what they hold and have counted is
// summed.
type fleetHost struct {
	pool.HostStats
	processes int
	most      time.Duration // the longest idle limit, of which IdleLimit is the shortest
	rates     []float64     // per second, for each of statsCounters; nil: not known
}

// A hostKey is a host's name.
type hostKey struct{ host, scheme, proxy string }

func keyOfHost(h *pool.HostStats) hostKey { return hostKey{h.Host, h.Scheme, h.Proxy} }

// newFleet merges the answers. A single one stays as it is: it may have two entries for an
// origin, as requests that need HTTP/1 have their own.
func newFleet(all []fetched) *fleet {
	f := &fleet{merged: len(all) > 1}
	for _, a := range all {
		if a.err == nil {
			f.add(a.stats.Hosts)
		}
	}
	return f
}

// add merges the hosts of one more process.
func (f *fleet) add(hosts []pool.HostStats) {
	f.processes++
	if !f.merged {
		for i := range hosts {
			f.hosts = append(f.hosts, newFleetHost(&hosts[i]))
		}
		return
	}
	found := make(map[hostKey]*fleetHost, len(f.hosts))
	for _, fh := range f.hosts {
		found[keyOfHost(&fh.HostStats)] = fh
	}
	mine := make(map[hostKey]bool, len(hosts))
	for i := range hosts {
		h := &hosts[i]
		key := keyOfHost(h)
		if fh := found[key]; fh == nil {
			found[key] = newFleetHost(h)
			f.hosts = append(f.hosts, found[key])
		} else {
			fh.merge(h)
			if !mine[key] {
				fh.processes++
			}
		}
		mine[key] = true
	}
}

// newFleetHost copies what merge changes.
func newFleetHost(h *pool.HostStats) *fleetHost {
	fh := &fleetHost{HostStats: *h, processes: 1, most: h.IdleLimit}
	fh.Totals = pool.Totals{}
	fh.Totals.Add(&h.Totals)
	fh.Conns = append([]pool.ConnStats(nil), h.Conns...)
	return fh
}

func (fh *fleetHost) merge(h *pool.HostStats) {
	fh.Open += h.Open
	fh.Idle += h.Idle
	fh.InUse += h.InUse
	fh.Dialing += h.Dialing
	fh.Waiting += h.Waiting
	fh.Totals.Add(&h.Totals)
	fh.Conns = append(fh.Conns, h.Conns...)
	fh.Proto = mergeNames(fh.Proto, h.Proto)
	fh.IdleLimitSource = mergeNames(fh.IdleLimitSource, h.IdleLimitSource)
	fh.IdleLimit, fh.most = min(fh.IdleLimit, h.IdleLimit), max(fh.most, h.IdleLimit)
	fh.LearntIdle = leastKnown(fh.LearntIdle, h.LearntIdle)
	fh.LearntUnused = leastKnown(fh.LearntUnused, h.LearntUnused)
}

// mergeNames is both names, if they differ.
func mergeNames(a, b string) string {
	if a == "" || b == "" || strings.Contains(a, b) {
		return cmp.Or(a, b)
	}
	return a + "/" + b
}

// leastKnown is the shorter one, of which zero is unknown.
func leastKnown(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// rate is that of statsCounters[i]; less than any if it isn't known.
func (fh *fleetHost) rate(i int) float64 {
	if fh.rates == nil {
		return -1
	}
	return fh.rates[i]
}
