package pool

import (
	"cmp"
	"net/url"
	"slices"
	"time"
)

// Stats returns a snapshot. It takes each host's lock for a moment, one after the other.
func (t *Transport) Stats() Stats {
	t.mu.RLock() // once, so that a host that is being forgotten counts in one of the two
	s := Stats{Total: t.forgotten.clone(), Hosts: make([]HostStats, 0, len(t.hosts))}
	hosts := t.hostsLocked()
	t.mu.RUnlock()
	for _, h := range hosts {
		hs := h.stats()
		s.Total.add(&hs.Totals)
		s.Hosts = append(s.Hosts, hs)
	}
	slices.SortFunc(s.Hosts, func(a, b HostStats) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Proxy, b.Proxy))
	})
	return s
}

func (h *host) stats() HostStats {
	h.mu.Lock()
	hs, shared := h.statsLocked()
	h.mu.Unlock()
	slices.SortFunc(shared, func(a, b *conn) int { return a.opened.Compare(b.opened) })
	for _, c := range shared {
		hs.Conns = append(hs.Conns, c.stats())
	}
	return hs
}

// statsLocked also returns the HTTP/2 connections, which are to be asked without h.mu.
func (h *host) statsLocked() (hs HostStats, shared []*conn) {
	for c := range h.conns {
		if c.state != connDialing && c.h2 != nil {
			shared = append(shared, c)
		}
	}
	tot := h.totalsLocked()
	h.refreshLocked(time.Now())
	limits := h.limits.Load()
	used, unused := h.idleLimit(h.shown, true), limits.unused
	return HostStats{
		Host:            h.key.addr,
		Scheme:          h.key.scheme,
		Proxy:           shownProxy(h.route.Proxy),
		Proto:           h.proto.String(),
		Open:            h.openLocked(),
		Idle:            h.idleLocked(),
		InUse:           h.inUseLocked(),
		Dialing:         h.dialing,
		Waiting:         h.queue.len(),
		DialWindow:      h.window.size(),
		IdleLimit:       used.limit,
		IdleLimitSource: used.from.String(),

		UnusedLimit:       unused.limit,
		UnusedLimitSource: unused.from.String(),
		LearntIdle:        limits.known.learnt,
		LearntUnused:      limits.learntUnused,
		RTT:               limits.known.connect,
		Totals:            tot,
	}, shared
}

func (c *conn) stats() ConnStats {
	at, addr := c.h2.State(), remoteAddr(c.nc)
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return ConnStats{
		Addr:        addr,
		Age:         time.Since(c.opened),
		Streams:     c.streams,
		StreamLimit: c.limit,
		GoAway:      c.goAway,
		Suspect:     c.suspect,
		PingRTT:     at.PingRTT,
		Pings:       uint64(at.PingsSent),
	}
}

// totalsLocked is a copy of the host's counters, with those that are kept outside h.mu.
func (h *host) totalsLocked() Totals {
	tot := h.tot.clone()
	tot.Sent, tot.Reused, tot.WaitTime = h.sent.Load(), h.reused.Load(), time.Duration(h.waited.Load())
	return tot
}

// shownProxy is a proxy's URL without its credentials, path and query.
func shownProxy(u *url.URL) string {
	if u == nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

func (h *host) noteFailed() {
	h.mu.Lock()
	h.tot.Failed++
	h.mu.Unlock()
}

func (h *host) noteRefused() {
	h.mu.Lock()
	h.tot.Refused++
	h.mu.Unlock()
}

func (h *host) noteReplaced() {
	h.mu.Lock()
	h.tot.Replaced++
	h.mu.Unlock()
}
