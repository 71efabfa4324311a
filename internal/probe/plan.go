package probe

import (
	"fmt"
	"strings"
	"time"
)

const (
	unusedConns = 2                     // of each protocol, that carry nothing
	pace        = 10 * time.Millisecond // between requests of one sequence, at least
)

// A Plan is what a probe will send at most.
type Plan struct {
	URL    string // without a password
	Method string
	// Protos are those that will be measured, "(if offered)" behind one that the server may not
	// speak.
	Protos      []string
	Idle        int           // connections of each protocol with one request
	Unused      int           // connections of each protocol without any
	Requests    int           // on one more connection of each protocol
	Verify      int           // connections of each protocol with two requests
	Longest     time.Duration // that it takes, but for the first connection and a last slow answer
	Connections int           // in all
	Total       int           // requests in all
	Insecure    bool
}

// Plan returns what Run will send at most.
func (p *Probe) Plan() Plan {
	pl := Plan{
		URL: p.url.Redacted(), Method: p.opt.Method, Protos: p.opt.Protos,
		Idle: p.opt.Conns, Unused: unusedConns, Requests: max(p.opt.Requests, 1), Insecure: p.opt.Insecure,
	}
	if p.opt.Verify {
		pl.Verify = p.opt.Conns
	}
	n := len(pl.Protos)
	if n == 0 {
		pl.Protos, n = []string{H1}, 1
		if p.url.Scheme == "https" {
			pl.Protos, n = []string{H1S, H2 + " (if offered)"}, 2
		}
	}
	pl.Connections = n * (pl.Idle + pl.Unused + pl.Verify + 1)
	pl.Total = n * (pl.Idle + pl.Requests + 2*pl.Verify)
	pl.Longest = p.opt.Max + p.opt.Spread + p.linger
	return pl
}

// String is the plan in lines for people.
func (pl Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "probing %s by %s, over %s; at most %d connections and %d requests in all, for about %v at most\n",
		pl.URL, pl.Method, strings.Join(pl.Protos, " and "), pl.Connections, pl.Total, pl.Longest)
	fmt.Fprintf(&b, "  of each protocol: %d connections with one request each, then idle; %d without any request;\n", pl.Idle, pl.Unused)
	if pl.Verify > 0 {
		fmt.Fprintf(&b, "  %d with a second request at growing ages;\n", pl.Verify)
	}
	if pl.Requests > 1 {
		fmt.Fprintf(&b, "  one with up to %d requests, one at a time, at most %d a second, until the server ends it\n", pl.Requests, time.Second/pace)
	} else {
		b.WriteString("  one with the first request\n")
	}
	if pl.Insecure {
		b.WriteString("  WARNING: the server's certificate is not verified: what answers may be anybody\n")
	}
	return b.String()
}
