package pool

import (
	"cmp"
	"net/url"
	"slices"
	"time"
)

// Stats returns a snapshot. It takes each host's lock for a moment, one after the other.
func (t *Transport) Stats() (s Stats) {
	t.ReadStats(&s)
	return s
}

// ReadStats is Stats for those who ask again and again: it replaces what *s says, and uses the
// slices and maps that are there, so that it allocates next to nothing. Nobody else may use them
// meanwhile.
func (t *Transport) ReadStats(s *Stats) {
	t.mu.RLock() // once, so that a host that is being forgotten counts in one of the two
	hosts := t.hostsLocked()
	s.begin(&t.forgotten, len(hosts))
	t.mu.RUnlock()
	slices.SortFunc(hosts, inOrder)
	for _, h := range hosts {
		s.add(h.readStats)
	}
}

// inOrder sorts by what is shown first. What isn't keeps two of one name from changing places.
func inOrder(a, b *host) int {
	if c := cmp.Compare(a.key.addr, b.key.addr); c != 0 {
		return c // nearly always
	}
	return cmp.Or(cmp.Compare(a.key.scheme, b.key.scheme),
		cmp.Compare(a.shownProxy, b.shownProxy), cmp.Compare(a.key.proxy, b.key.proxy), a.compareTwin(b))
}

// compareTwin puts the one for what only HTTP/1 can carry last.
func (h *host) compareTwin(o *host) int {
	switch {
	case h.key.http1 == o.key.http1:
		return 0
	case o.key.http1:
		return -1
	}
	return 1
}

// begin empties s, which is to have n hosts, but for the counters of those that are forgotten.
func (s *Stats) begin(forgotten *Totals, n int) {
	s.Bounds = bucketBounds
	forgotten.copyTo(&s.Total)
	s.Hosts = slices.Grow(s.Hosts[:0], n)
	if s.Hosts == nil {
		s.Hosts = []HostStats{} // no host isn't null in JSON
	}
}

// add adds the host that read describes, which may use the maps and the slice that it finds.
func (s *Stats) add(read func(*HostStats)) {
	s.Hosts = s.Hosts[:len(s.Hosts)+1]
	hs := &s.Hosts[len(s.Hosts)-1]
	read(hs)
	s.Total.Add(&hs.Totals)
}

func (h *host) stats() (hs HostStats) {
	h.readStats(&hs)
	return hs
}

// readStats is stats in the maps and the slice of *hs.
func (h *host) readStats(hs *HostStats) {
	h.mu.Lock()
	shared := h.statsLocked(hs)
	h.mu.Unlock()
	slices.SortFunc(shared, func(a, b *conn) int { return a.opened.Compare(b.opened) })
	for _, c := range shared {
		hs.Conns = append(hs.Conns, c.stats())
	}
}

// statsLocked also returns the HTTP/2 connections, which are to be asked without h.mu.
func (h *host) statsLocked(hs *HostStats) (shared []*conn) {
	if h.speaks.http2 {
		for c := range h.conns {
			if c.state != connDialing && c.h2 != nil {
				shared = append(shared, c)
			}
		}
	}
	conns, tot := hs.Conns[:0], hs.Totals
	h.copyTotalsLocked(&tot)
	h.forgetOldLocked(time.Now())
	limits := h.limits.Load()
	used, unused := h.idleLimit(h.shown, true), limits.unused
	*hs = HostStats{
		Host:            h.key.addr,
		Scheme:          h.key.scheme,
		Proxy:           h.shownProxy,
		Proto:           h.proto.String(),
		Open:            h.openLocked(),
		Idle:            h.idleLocked(),
		InUse:           h.inUseLocked(),
		Dialing:         h.dialing,
		Waiting:         h.queue.len(),
		MaxConns:        h.cfg.MaxConnsPerHost,
		MaxWait:         h.cfg.MaxWait,
		DialWindow:      h.window.size(),
		IdleLimit:       used.limit,
		IdleLimitSource: used.from.String(),

		UnusedLimit:       unused.limit,
		UnusedLimitSource: unused.from.String(),
		LearntIdle:        limits.known.learnt,
		LearntUnused:      limits.learntUnused,
		RTT:               limits.known.connect,
		Conns:             conns,
		Totals:            tot,
	}
	return shared
}

func (c *conn) stats() ConnStats {
	at, addr := c.h2.State(), remoteAddr(c.nc)
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	state, idle := c.state.shown(), time.Duration(0)
	if c.streams == 0 {
		state, idle = "idle", max(age(time.Now(), c.idleSince), 0)
	}
	return ConnStats{
		Addr:        addr,
		Proto:       protocolHTTP2.String(),
		State:       state,
		Age:         time.Since(c.opened),
		Idle:        idle,
		Requests:    c.uses,
		Streams:     c.streams,
		StreamLimit: c.limit,
		GoAway:      c.goAway,
		Suspect:     c.suspect,
		PingRTT:     at.PingRTT,
		Pings:       uint64(at.PingsSent),
	}
}

// totalsLocked is a copy of the host's counters, with those that are kept outside h.mu.
func (h *host) totalsLocked() (tot Totals) {
	h.copyTotalsLocked(&tot)
	return tot
}

func (h *host) copyTotalsLocked(tot *Totals) {
	h.tot.copyTo(tot)
	tot.Sent, tot.Reused = h.given.load()
	tot.WaitTime, tot.WaitTimes = time.Duration(h.waited.Load()), h.waits.load()
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
