package main

import (
	"fmt"
	"io"
	"strings"

	"example.com/connwise/internal/cli"
	"example.com/connwise/internal/probe"
	"example.com/connwise/internal/texttable"
)

// writeProbeTable writes a table for each protocol, and the recommended configuration.
func writeProbeTable(w io.Writer, r *probe.Report) error {
	for _, p := range r.Protocols {
		if err := printed(fmt.Fprintf(w, "%s over %s, at %s\n", r.URL, p.Proto, r.Address)); err != nil {
			return err
		}
		if p.Error != "" {
			if err := printed(fmt.Fprintf(w, "  not measured: %s\n\n", p.Error)); err != nil {
				return err
			}
			continue
		}
		if err := texttable.Write(w, []string{"what", "measured"}, probeRows(p), 2); err != nil {
			return printed(0, err)
		}
		if err := printed(fmt.Fprintln(w, notesText(p.Notes))); err != nil {
			return err
		}
	}
	return printed(io.WriteString(w, probeAdvice(r)))
}

// notesText has each note in lines of its own.
func notesText(notes []string) string {
	var b strings.Builder
	for _, n := range notes {
		_, _ = fmt.Fprintf(&b, " note: %s\n", strings.Join(cli.Wrap(n, 100), "\n       "))
	}
	return b.String()
}

// probeAdvice is the recommended configuration in the words that introduce it.
func probeAdvice(r *probe.Report) string {
	a := r.Advice
	if a == nil {
		return "Too little is known to recommend a pool.Config.\n"
	}
	intro := "Recommended, for a pool.Transport to this host (or in Config.Hosts, for this host alone):"
	if !a.Measured {
		intro = "No connection was seen to end, so this only says what is known to be safe; a longer --max may show more.\nRecommended:"
	}
	return intro + "\n\n" + a.Go + "\n"
}

// probeRows are the rows of one protocol's table.
func probeRows(p probe.Protocol) [][]string {
	rows := [][]string{{"protocol", protocolText(p)}, {"first answer", answerText(p)}, {"connecting took", p.RTT.String()}}
	add := func(what, text string) {
		if text != "" {
			rows = append(rows, []string{what, text})
		}
	}
	add("keep-alive hint", hintText(p))
	addEndings(add, "idle", p.Idle)
	addEndings(add, "unused", p.Unused)
	add("requests", requestsText(p.Requests))
	add("requests, then", p.Requests.Ending)
	add("requests, goaway", goAwayText(p.Requests.GoAway, p.Requests.GoAways))
	if p.HTTP == "HTTP/2.0" {
		add("streams at a time", streamsText(p.MaxStreams))
	}
	for _, c := range p.Checks {
		add("used again", fmt.Sprintf("after %v: %s", c.Age, c.Result))
	}
	return rows
}

func protocolText(p probe.Protocol) string {
	switch {
	case p.TLS == "":
		return p.HTTP
	case p.ALPN == "":
		return fmt.Sprintf("%s, %s, no ALPN", p.HTTP, p.TLS)
	}
	return fmt.Sprintf("%s, %s, ALPN %s", p.HTTP, p.TLS, p.ALPN)
}

func answerText(p probe.Protocol) string {
	if p.Server == "" {
		return fmt.Sprint(p.Status)
	}
	return fmt.Sprintf("%d, Server: %s", p.Status, p.Server)
}

func hintText(p probe.Protocol) string {
	if p.KeepAlive == nil {
		return "none"
	}
	return p.KeepAlive.Text
}

// addEndings adds the rows about what became of several connections.
func addEndings(add func(what, text string), what string, e *probe.Endings) {
	if e == nil {
		return
	}
	add(what, agesText(e))
	var how []string
	for _, h := range e.How {
		text := h.Words
		if len(e.How) > 1 {
			text = fmt.Sprintf("%s (%d)", h.Words, h.Conns)
		}
		how = append(how, text)
	}
	if len(how) > 0 && e.Last.Duration() >= lateGoodbye {
		how[len(how)-1] += fmt.Sprintf("; %v from the first word to the last", e.Last)
	}
	add(what+", ended by", strings.Join(how, "; "))
	add(what+", goaway", goAwayText(e.GoAway, e.GoAways))
}

// lateGoodbye is what makes the time between two words worth telling.
const lateGoodbye = 100 * 1e6 // ns

func agesText(e *probe.Endings) string {
	switch {
	case e.Ended == 0 && e.OpenFor == 0:
		return "unknown"
	case e.Ended == 0:
		return fmt.Sprintf("longer than %v (%d connections)", e.OpenFor, e.Conns)
	}
	s := fmt.Sprintf("%v (%v to %v, %d connections)", e.Median, e.Min, e.Max, e.Ended)
	if open := e.Conns - e.Ended; open > 0 {
		s += fmt.Sprintf("; %d still open after %v", open, e.OpenFor)
	}
	return s
}

func requestsText(r probe.Requests) string {
	if r.Limited {
		return fmt.Sprintf("%d (%s)", r.Served, r.By)
	}
	if r.Served <= 1 {
		return r.By
	}
	return fmt.Sprintf("%d and more (%s)", r.Served, r.By)
}

// goAwayText tells the style, and what the frames said.
func goAwayText(style string, frames []probe.GoAway) string {
	for i, g := range frames {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		style += fmt.Sprintf("%slast=%s %s", sep, lastText(g.LastStream), g.Code)
		if g.Debug != "" {
			style += fmt.Sprintf(" %q", g.Debug)
		}
	}
	return style
}

// lastText shows the number that only says that another GOAWAY may follow as people know it.
func lastText(id uint32) string {
	if id == 1<<31-1 {
		return "2^31-1"
	}
	return fmt.Sprint(id)
}

func streamsText(n *uint32) string {
	if n == nil {
		return "no limit announced"
	}
	return fmt.Sprint(*n)
}
