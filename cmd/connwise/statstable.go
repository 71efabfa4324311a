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
	"unicode"

	"example.com/connwise/internal/texttable"
	"example.com/connwise/pool"
)

var (
	nowColumns  = []string{"host", "scheme", "idle limit", "set by"}
	connColumns = []string{"connection to", "host", "age", "streams", "limit", "goaway", "ping", "pings"}
)

// writePrintable writes what write writes, without what a terminal would take for a command:
// names come from other processes.
func writePrintable(w io.Writer, write func(io.Writer) error) error {
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, printable(b.String()))
	return err
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// writeStats writes what the pools hold, what they have counted, and why they closed
// connections. One table of it all wouldn't fit a screen.
func writeStats(w io.Writer, f *fleet) error {
	if len(f.hosts) == 0 {
		_, err := fmt.Fprintln(w, "no hosts in use")
		return err
	}
	head, sinceHead := slices.Clone(nowColumns), []string{"host"}
	for _, g := range statsGauges {
		head = append(head, g.name)
	}
	for _, c := range statsCounters {
		sinceHead = append(sinceHead, c.name)
	}
	if f.merged {
		head = append(head, "procs")
	}
	var now, since [][]string
	for _, h := range f.hosts {
		row := nowRow(h)
		if f.merged {
			row = append(row, strconv.Itoa(h.processes))
		}
		now = append(now, row)
		since = append(since, sinceRow(h))
	}
	if err := texttable.Write(w, head, now, 4); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := texttable.Write(w, sinceHead, since, 1); err != nil {
		return err
	}
	if err := writeConns(w, f.hosts); err != nil {
		return err
	}
	_, err := io.WriteString(w, closedLines(f.hosts)+
		hostLines(f.hosts, idleCloseLine)+hostLines(f.hosts, confirmLine)+hostLines(f.hosts, aheadLine))
	return err
}

// writeConns writes the HTTP/2 connections, if there are any.
func writeConns(w io.Writer, hosts []*fleetHost) error {
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

func connRow(h *fleetHost, c pool.ConnStats) []string {
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

func nowRow(h *fleetHost) []string {
	limit := limitText(h.IdleLimit)
	if h.most != h.IdleLimit {
		limit += " to " + limitText(h.most)
	}
	row := []string{hostLabel(h), schemeOf(h), limit, h.IdleLimitSource}
	for _, g := range statsGauges {
		row = append(row, strconv.Itoa(g.of(&h.HostStats)))
	}
	return row
}

func limitText(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.Round(time.Millisecond).String()
}

// schemeOf tells where HTTP/2 is spoken.
func schemeOf(h *fleetHost) string {
	switch {
	case h.Proto == "HTTP/2.0":
		return h.Scheme + " h2"
	case strings.Contains(h.Proto, "HTTP/2.0"):
		return h.Scheme + " h1/h2"
	}
	return h.Scheme
}

func sinceRow(h *fleetHost) []string {
	host := h.Host
	if h.Proxy != "" {
		host += " (proxy)" // which one is above; it would make the row too long
	}
	row := []string{host}
	for _, c := range statsCounters {
		row = append(row, strconv.FormatUint(c.of(&h.Totals), 10))
	}
	return row
}

func hostLabel(h *fleetHost) string {
	if h.Proxy == "" {
		return h.Host
	}
	return h.Host + " via " + h.Proxy
}

// closedLines has a line for each host that closed connections, with the reasons,
// the most frequent first, and an empty line before them.
func closedLines(hosts []*fleetHost) string {
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
func idleCloseLine(h *fleetHost) string {
	if len(h.IdleCloses) == 0 {
		return ""
	}
	return "was closed while idle: " + counts(h.IdleCloses) +
		learnt("idle timeout", h.LearntIdle) + learnt("timeout of unused ones", h.LearntUnused)
}

// confirmLine tells of a host whose connections were asked for a sign of life.
func confirmLine(h *fleetHost) string {
	if h.Confirmed == 0 {
		return ""
	}
	return fmt.Sprintf("was asked for a sign of life: %d times, %d without one", h.Confirmed, h.ConfirmFailed)
}

// aheadLine tells of a host with dials that no request asked for.
func aheadLine(h *fleetHost) string {
	if h.DialsAhead == 0 {
		return ""
	}
	return fmt.Sprintf("was dialled ahead: %d of %d times", h.DialsAhead, h.Dials)
}

// hostLines has a line for each host of which there is something to say.
func hostLines(hosts []*fleetHost, say func(*fleetHost) string) string {
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
