package pool

import (
	"cmp"
	"net/url"
	"slices"
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
	defer h.mu.Unlock()
	tot := h.totalsLocked()
	limit, from := idleLimit(h.cfg, h.shown, h.t.set.idleConnTimeout)
	return HostStats{
		Host:            h.key.addr,
		Scheme:          h.key.scheme,
		Proxy:           shownProxy(h.route.Proxy),
		Open:            h.openLocked(),
		Idle:            h.idleLocked(),
		InUse:           h.inUseLocked(),
		Dialing:         h.dialing,
		Waiting:         h.queue.len(),
		IdleLimit:       limit,
		IdleLimitSource: from.String(),
		Totals:          tot,
	}
}

// totalsLocked is a copy of the host's counters, with those that are kept outside h.mu.
func (h *host) totalsLocked() Totals {
	tot := h.tot.clone()
	tot.Sent, tot.Reused = h.sent.Load(), h.reused.Load()
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

func (h *host) noteReplaced() {
	h.mu.Lock()
	h.tot.Replaced++
	h.mu.Unlock()
}
