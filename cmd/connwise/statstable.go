package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/connwise/internal/texttable"
	"example.com/connwise/pool"
)

var (
	nowColumns   = []string{"host", "scheme", "idle limit", "set by", "open", "idle", "in use", "dialing", "waiting"}
	sinceColumns = []string{
		"host", "sent", "failed", "reused", "stale", "replaced", "dials", "dial errs",
		"waited", "timed out", "closed",
	}
	connColumns = []string{"connection to", "host", "age", "streams", "limit", "goaway", "ping", "pings"}
)

// writeStats writes what the pools hold, what they have counted, and why they closed
// connections. One table of it all wouldn't fit a screen.
func writeStats(w io.Writer, s pool.Stats) error {
	if len(s.Hosts) == 0 {
		_, err := fmt.Fprintln(w, "no hosts in use")
		return err
	}
	var now, since [][]string
	for _, h := range s.Hosts {
		now = append(now, nowRow(h))
		since = append(since, sinceRow(h))
	}
	if err := texttable.Write(w, nowColumns, now, 4); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := texttable.Write(w, sinceColumns, since, 1); err != nil {
		return err
	}
	if err := writeConns(w, s.Hosts); err != nil {
		return err
	}
	_, err := io.WriteString(w, closedLines(s.Hosts)+
		hostLines(s.Hosts, idleCloseLine)+hostLines(s.Hosts, confirmLine)+hostLines(s.Hosts, aheadLine))
	return err
}

// writeConns writes the HTTP/2 connections, if there are any.
func writeConns(w io.Writer, hosts []pool.HostStats) error {
	var rows [][]string
	for _, h := range hosts {
		for _, c := range h.Conns {
			rows = append(rows, connRow(h, c))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return texttable.Write(w, connColumns, rows, 2)
}

func connRow(h pool.HostStats, c pool.ConnStats) []string {
	state, ping := "-", "-"
	switch {
	case c.GoAway:
		state = "yes"
	case c.Suspect:
		state = "suspect"
	}
	if c.PingRTT > 0 {
		ping = c.PingRTT.Round(time.Microsecond).String()
	}
	return []string{
		cmp.Or(c.Addr, "-"), hostLabel(h), c.Age.Round(time.Second).String(),
		strconv.Itoa(c.Streams), strconv.Itoa(c.StreamLimit), state, ping, strconv.FormatUint(c.Pings, 10),
	}
}

func nowRow(h pool.HostStats) []string {
	limit := "-"
	if h.IdleLimit > 0 {
		limit = h.IdleLimit.Round(time.Millisecond).String()
	}
	row := []string{hostLabel(h), schemeOf(h), limit, h.IdleLimitSource}
	for _, n := range []int{h.Open, h.Idle, h.InUse, h.Dialing, h.Waiting} {
		row = append(row, strconv.Itoa(n))
	}
	return row
}

// schemeOf tells where HTTP/2 is spoken.
func schemeOf(h pool.HostStats) string {
	if h.Proto == "HTTP/2.0" {
		return h.Scheme + " h2"
	}
	return h.Scheme
}

func sinceRow(h pool.HostStats) []string {
	host := h.Host
	if h.Proxy != "" {
		host += " (proxy)" // which one is above; it would make the row too long
	}
	row := []string{host}
	for _, n := range []uint64{
		h.Sent, h.Failed, h.Reused, h.Stale, h.Replaced, h.Dials, h.DialsFailed,
		h.Waited, h.WaitTimeouts, h.Closed,
	} {
		row = append(row, strconv.FormatUint(n, 10))
	}
	return row
}

func hostLabel(h pool.HostStats) string {
	if h.Proxy == "" {
		return h.Host
	}
	return h.Host + " via " + h.Proxy
}

// closedLines has a line for each host that closed connections, with the reasons,
// the most frequent first, and an empty line before them.
func closedLines(hosts []pool.HostStats) string {
	var b strings.Builder
	for _, h := range hosts {
		if h.Closed == 0 {
			continue
		}
		if b.Len() == 0 {
			b.WriteByte('\n')
		}
		_, _ = fmt.Fprintf(&b, "%s closed: %s\n", hostLabel(h), counts(h.ClosedBy))
	}
	return b.String()
}

// counts is "12 idle limit, 3 goaway", the most frequent first.
func counts[K ~string](m map[K]uint64) string {
	keys := slices.SortedFunc(maps.Keys(m), func(x, y K) int {
		return cmp.Or(cmp.Compare(m[y], m[x]), cmp.Compare(x, y))
	})
	var parts []string
	for _, k := range keys {
		if n := m[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	return strings.Join(parts, ", ")
}

// idleCloseLine tells of a host whose peer closed idle connections: how, and what was learnt
// from that.
func idleCloseLine(h pool.HostStats) string {
	if len(h.IdleCloses) == 0 {
		return ""
	}
	return "was closed while idle: " + counts(h.IdleCloses) +
		learnt("idle timeout", h.LearntIdle) + learnt("timeout of unused ones", h.LearntUnused)
}

// confirmLine tells of a host whose connections were asked for a sign of life.
func confirmLine(h pool.HostStats) string {
	if h.Confirmed == 0 {
		return ""
	}
	return fmt.Sprintf("was asked for a sign of life: %d times, %d without one", h.Confirmed, h.ConfirmFailed)
}

// aheadLine tells of a host with dials that no request asked for.
func aheadLine(h pool.HostStats) string {
	if h.DialsAhead == 0 {
		return ""
	}
	return fmt.Sprintf("was dialled ahead: %d of %d times", h.DialsAhead, h.Dials)
}

// hostLines has a line for each host of which there is something to say.
func hostLines(hosts []pool.HostStats, say func(pool.HostStats) string) string {
	var b strings.Builder
	for _, h := range hosts {
		if s := say(h); s != "" {
			b.WriteString(hostLabel(h) + " " + s + "\n")
		}
	}
	return b.String()
}

func learnt(what string, d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("; learnt %s: %v", what, d.Round(time.Millisecond))
}
