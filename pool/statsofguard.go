package pool

import (
	"slices"
	"time"
)

// StatsOf is Stats of the host of that name only, with what is seen of its connections in Conns:
// the oldest 256. Total is that host's.
func (g *Guard) StatsOf(host string) (s Stats) {
	g.mu.Lock()
	h := g.hosts[host]
	g.mu.Unlock()
	s.begin(&Totals{}, 1)
	if h != nil {
		s.add(func(hs *HostStats) {
			h.readStats(hs)
			hs.Conns = h.connStats()
		})
	}
	return s
}

func (h *guardHost) connStats() []ConnStats {
	h.mu.Lock()
	conns := make([]*guardConn, 0, len(h.conns))
	for c := range h.conns {
		conns = append(conns, c)
	}
	h.mu.Unlock()
	slices.SortFunc(conns, func(a, b *guardConn) int { return a.opened.Compare(b.opened) })
	conns = conns[:min(len(conns), mostConns)]
	now := time.Now()
	all := make([]ConnStats, len(conns))
	for i, c := range conns {
		all[i] = c.stats(now)
	}
	return all
}

// stats has no requests and streams, which a Guard doesn't see the end of.
func (c *guardConn) stats(now time.Time) ConnStats {
	s := ConnStats{Addr: remoteAddr(c.Conn), State: connInUse.shown(), Age: now.Sub(c.opened), Requests: -1}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.sense.kind {
	case kindHTTP1:
		s.Proto = protocolHTTP1.String()
	case kindHTTP2:
		s.Proto = protocolHTTP2.String()
	}
	if c.sense.ages() && c.sense.resting() {
		s.State, s.Idle = connIdle.shown(), max(age(now, c.sense.last), 0)
	}
	return s
}
