package pool

import (
	"slices"
	"time"
)

// mostConns bounds the HTTP/1 connections that StatsOf lists for one entry of Hosts.
const mostConns = 256

// StatsOf is Stats of the hosts of that name only ("host:port", as in HostStats.Host; there may
// be several, by scheme, proxy and protocol), with their HTTP/1 connections in Conns, too: the
// oldest 256 of each. Total sums those hosts. It takes their locks for a moment for each
// connection, so it is for somebody who looks at one host.
func (t *Transport) StatsOf(addr string) (s Stats) {
	hosts := slices.DeleteFunc(t.allHosts(), func(h *host) bool { return h.key.addr != addr })
	slices.SortFunc(hosts, inOrder)
	s.begin(&Totals{}, len(hosts))
	for _, h := range hosts {
		s.add(func(hs *HostStats) {
			h.readStats(hs)
			hs.Conns = append(hs.Conns, h.http1Conns()...)
		})
	}
	return s
}

// http1Conns are the open HTTP/1 connections, the oldest first.
func (h *host) http1Conns() []ConnStats {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	conns := make([]*conn, 0, h.openLocked())
	for c := range h.conns {
		if c.state != connDialing && c.h1 != nil {
			conns = append(conns, c)
		}
	}
	slices.SortFunc(conns, func(a, b *conn) int { return a.opened.Compare(b.opened) })
	conns = conns[:min(len(conns), mostConns)]
	all := make([]ConnStats, len(conns))
	for i, c := range conns {
		all[i] = c.http1StatsLocked(now)
	}
	return all
}

// http1StatsLocked tells nothing of what only the holder of a connection in use may read.
func (c *conn) http1StatsLocked(now time.Time) ConnStats {
	s := ConnStats{
		Addr: c.addr, Proto: protocolHTTP1.String(), State: c.state.shown(), Age: now.Sub(c.opened),
		Requests: -1, StreamLimit: 1,
	}
	if c.state == connInUse {
		s.Streams = 1
	} else {
		s.Idle, s.Requests = max(age(now, c.idleSince), 0), c.uses
	}
	return s
}

// shown is what a snapshot calls the state.
func (s connState) shown() string {
	switch s {
	case connIdle:
		return "idle"
	case connSettling:
		return "settling"
	case connWitness:
		return "witness"
	}
	return "in use"
}
