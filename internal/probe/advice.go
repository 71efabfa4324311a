package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Advice is the pool.Config that a Report leads to.
type Advice struct {
	ProxyIdleTimeout Millis `json:"proxy_idle_timeout_ms"`
	// IdleMargin is set where connections end at ages so different, or so far away, that
	// pool's own margin (a tenth, 25 ms at least and 5 s at most) would be too small. Zero:
	// that one is right.
	IdleMargin Millis `json:"idle_margin_ms,omitempty"`
	// Measured is false when no connection was seen to end: ProxyIdleTimeout is then how
	// long they are known to stay open.
	Measured bool `json:"measured"`
	// Go is a pool.Config literal to paste, with the reasons as comments.
	Go string `json:"go"`
}

// A bound is an age above which a connection should not be reused.
type bound struct {
	at       time.Duration
	why      string // a comment
	margin   time.Duration
	measured bool
}

// advise takes the smallest of what the protocols allow. It's nil where nothing is known.
func advise(r *Report) *Advice {
	var bounds []bound
	for i := range r.Protocols {
		bounds = append(bounds, r.Protocols[i].bounds(r.Cut)...)
	}
	if len(bounds) == 0 {
		return nil
	}
	b := slices.MinFunc(bounds, func(x, y bound) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.margin, x.margin))
	})
	a := &Advice{ProxyIdleTimeout: Millis(b.at), Measured: b.measured}
	if b.margin > min(max(b.at/10, 25*time.Millisecond), 5*time.Second) {
		a.IdleMargin = Millis(min(b.margin, b.at/2).Round(time.Millisecond))
	}
	a.Go = a.code(b)
	return a
}

// bounds are what is known of a protocol. cut: what was still open says nothing.
func (p *Protocol) bounds(cut bool) []bound {
	var list []bound
	if e := p.Idle; e != nil && e.Ended > 0 {
		list = append(list, bound{roundDown(e.Min.Duration()), fmt.Sprintf("%s: the server ended %d of %d connections after %v to %v idle.",
			p.Proto, e.Ended, e.Conns, e.Min, e.Max), p.margin(), true})
	} else if e != nil && e.OpenFor > 0 && !cut {
		list = append(list, bound{roundDown(e.OpenFor.Duration()),
			fmt.Sprintf("%s: the server ended none of %d connections in that time.", p.Proto, e.Conns), 0, false})
	}
	if h := p.KeepAlive; h != nil && h.Timeout > 0 {
		list = append(list, bound{h.Timeout.Duration(), fmt.Sprintf("%s: the server announces it by a Keep-Alive field.", p.Proto), 0, true})
	}
	var alive Millis
	for _, c := range p.Checks {
		switch c.Result {
		case resultAnswered:
			alive = max(alive, c.Age)
		case resultSilent, resultEnded:
			if alive > 0 {
				return append(list, bound{alive.Duration(),
					fmt.Sprintf("%s: a connection idle for %v was dead without a word; after %v one still worked.", p.Proto, c.Age, alive), 0, true})
			}
		}
	}
	return list
}

// margin is how much earlier than the first close that was seen another one may come. Of n
// ages that are spread evenly the lowest is about spread/(n-1) above the least possible.
func (p *Protocol) margin() time.Duration {
	m := 2 * p.RTT.Duration()
	if n := p.Idle.Ended; n > 1 {
		m += 2 * (p.Idle.Max - p.Idle.Min).Duration() / time.Duration(n-1)
	}
	return m
}

// roundDown returns the number that somebody may have configured: the next round one below d,
// or the one just above it, as clocks and timers differ a little.
func roundDown(d time.Duration) time.Duration {
	unit := time.Millisecond
	switch {
	case d >= 10*time.Second:
		unit = time.Second
	case d >= time.Second:
		unit = 100 * time.Millisecond
	case d >= 100*time.Millisecond:
		unit = 10 * time.Millisecond
	}
	if near := d.Round(unit); near-d <= unit/4 {
		return near
	}
	return max(d.Truncate(unit), time.Microsecond)
}

// code is the literal.
func (a *Advice) code(b bound) string {
	var s strings.Builder
	s.WriteString("pool.Config{\n")
	fmt.Fprintf(&s, "\t// %s\n\tProxyIdleTimeout: %s,\n", b.why, literal(a.ProxyIdleTimeout.Duration()))
	if a.IdleMargin > 0 {
		fmt.Fprintf(&s, "\t// Those ages differ, or the server is far away.\n\tIdleMargin: %s,\n", literal(a.IdleMargin.Duration()))
	}
	s.WriteString("}")
	return s.String()
}

// units are what Go code counts time in.
var units = []struct {
	size time.Duration
	name string
}{{time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}, {time.Microsecond, "time.Microsecond"}}

// literal is d as Go code has it.
func literal(d time.Duration) string {
	for _, u := range units {
		if d%u.size == 0 && d >= u.size {
			return fmt.Sprintf("%d * %s", d/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d * time.Nanosecond", d)
}
