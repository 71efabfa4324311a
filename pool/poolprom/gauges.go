package poolprom

import (
	"slices"

	"example.com/connwise/pool"
)

// gauges are what an account's hosts hold now, together.
type gauges struct {
	idle, inUse, dialing, waiting, window int
	http2                                 bool // there are connections that have streams
	streams, streamLimit                  int
}

func (g *gauges) add(h *pool.HostStats) {
	g.idle += h.Idle
	g.inUse += h.InUse
	g.dialing += h.Dialing
	g.waiting += h.Waiting
	g.window += h.DialWindow
	for i := range h.Conns {
		g.http2 = true
		g.streams += h.Conns[i].Streams
		g.streamLimit += h.Conns[i].StreamLimit
	}
}

// showGauges shows what an account's hosts hold.
func (c *Collector) showGauges(s *sink, g *gauges) {
	s.gaugeOf(c.names.connections, stateIdle, float64(g.idle))
	s.gaugeOf(c.names.connections, stateInUse, float64(g.inUse))
	s.gaugeOf(c.names.connections, stateDialing, float64(g.dialing))
	s.gauge(c.names.waiting, float64(g.waiting))
	if g.http2 {
		s.gauge(c.names.streams, float64(g.streams))
		s.gauge(c.names.streamLimit, float64(g.streamLimit))
	}
}

// showHost shows what isn't to be summed: limits, and what is known of the peer. Of hosts with the same
// key that are limited together the busiest is shown.
func (c *Collector) showHost(s *sink, a *account) {
	h := busiest(a.hosts)
	s.gauge(c.names.window, float64(a.gauges.window))
	s.some(c.names.connLimit, float64(h.MaxConns))
	s.some(c.names.waitLimit, h.MaxWait.Seconds())
	s.gaugeOf(c.names.idleLimit, c.sources.pair(h.IdleLimitSource), h.IdleLimit.Seconds())
	s.some(c.names.learnt, h.LearntIdle.Seconds())
	s.some(c.names.roundTrip, h.RTT.Seconds())
	s.some(c.names.pingRoundTrip, longestPing(a.hosts))
	var spoken []string
	for i := range a.hosts {
		if p := a.hosts[i].Proto; p != "" && !slices.Contains(spoken, p) {
			spoken = append(spoken, p)
			s.gaugeOf(c.names.info, c.protocol(p), 1)
		}
	}
}

func busiest(hosts []pool.HostStats) *pool.HostStats {
	h := &hosts[0]
	for i := range hosts {
		if hosts[i].Sent > h.Sent {
			h = &hosts[i]
		}
	}
	return h
}

func longestPing(hosts []pool.HostStats) (seconds float64) {
	for i := range hosts {
		for j := range hosts[i].Conns {
			seconds = max(seconds, hosts[i].Conns[j].PingRTT.Seconds())
		}
	}
	return seconds
}
