package peer

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/net/http2"
)

// maxViolations bounds the texts in a report.
const maxViolations = 64

// An H2ConnReport is what an H2Server has seen of one connection.
type H2ConnReport struct {
	Open  bool   `json:"open"`
	Proto string `json:"proto,omitempty"` // "h2" or "http/1.1"; empty before the handshake

	Streams     int `json:"streams"`      // opened by the client
	OpenStreams int `json:"open_streams"` // now
	StreamPeak  int `json:"stream_peak"`  // the most that were open at one time
	Late        int `json:"late"`         // opened after the client had answered the PING behind a GOAWAY
	Received    int `json:"received"`     // requests received completely, executed or not
	Executed    int `json:"executed"`
	Refused     int `json:"refused"`   // by REFUSED_STREAM
	Cancelled   int `json:"cancelled"` // RST_STREAMs of the client's

	Pings           int `json:"pings"` // of the client's
	PingsUnanswered int `json:"pings_unanswered"`
	PingPeak        int `json:"ping_peak"` // the most that were unanswered at one time

	GoAwaysSent int          `json:"go_aways_sent"`
	GoAways     []H2Farewell `json:"go_aways,omitempty"` // of the client's, the first 16
}

// An H2Farewell is a GOAWAY.
type H2Farewell struct {
	Last uint32        `json:"last"`
	Code http2.ErrCode `json:"code"`
}

// An H2Report is what an H2Server has seen. It shares nothing with the server.
type H2Report struct {
	Report
	// PerConn tells of the connections in the order of acceptance, the first 16384.
	PerConn []H2ConnReport `json:"per_conn"`
	// Violations are what clients did against RFC 9113, the first 64.
	Violations []string `json:"violations,omitempty"`
}

// Sum adds the connections up: counts and gauges; of the peaks it has the highest, of
// Open whether one is.
func (r H2Report) Sum() H2ConnReport {
	var sum H2ConnReport
	for _, c := range r.PerConn {
		sum.Open = sum.Open || c.Open
		sum.Streams += c.Streams
		sum.OpenStreams += c.OpenStreams
		sum.StreamPeak = max(sum.StreamPeak, c.StreamPeak)
		sum.Late += c.Late
		sum.Received += c.Received
		sum.Executed += c.Executed
		sum.Refused += c.Refused
		sum.Cancelled += c.Cancelled
		sum.Pings += c.Pings
		sum.PingsUnanswered += c.PingsUnanswered
		sum.PingPeak = max(sum.PingPeak, c.PingPeak)
		sum.GoAwaysSent += c.GoAwaysSent
		sum.GoAways = append(sum.GoAways, c.GoAways...)
	}
	return sum
}

// OpenConns counts the connections that are open.
func (r H2Report) OpenConns() int {
	n := 0
	for _, c := range r.PerConn {
		if c.Open {
			n++
		}
	}
	return n
}

// An h2Book has the reports of all connections. Its mutex is the innermost.
type h2Book struct {
	mu         sync.Mutex
	conns      []*H2ConnReport
	used       int // connections on which a request was executed, those that aren't in conns included
	violations []string
}

func (b *h2Book) add(c *H2Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.report = &H2ConnReport{Open: true}
	if len(b.conns) < maxReported {
		b.conns = append(b.conns, c.report)
	}
}

// note has f change the report of c.
func (b *h2Book) note(c *H2Conn, f func(*H2ConnReport)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(c.report)
}

// executed counts an execution on c.
func (b *h2Book) executed(c *H2Conn) {
	b.note(c, func(r *H2ConnReport) {
		if r.Executed++; r.Executed == 1 {
			b.used++
		}
	})
}

func (b *h2Book) violated(c *H2Conn, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.violations) < maxViolations {
		b.violations = append(b.violations, fmt.Sprintf("connection %d: %s", c.Num, text))
	}
}

// Count returns the connections so far, which costs less than a Report.
func (s *H2Server) Count() Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.count
	c.Open = len(s.open)
	return c
}

// Report returns what the server has seen so far. It is final after Close.
func (s *H2Server) Report() H2Report {
	r := H2Report{Report: Report{Executed: s.oracle.executions()}}
	r.Requests, r.Uncounted = s.oracle.totals()
	r.BodyBytes, r.Damaged = s.oracle.bodies()
	r.Count = s.Count()
	s.mu.Lock()
	r.AcceptedAt = slices.Clone(s.accepted)
	s.mu.Unlock()
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	r.Unused = r.Accepted - s.book.used
	for _, c := range s.book.conns {
		cr := *c
		cr.GoAways = slices.Clone(c.GoAways)
		r.PerConn = append(r.PerConn, cr)
		r.Conns = append(r.Conns, c.Executed)
	}
	r.Violations = slices.Clone(s.book.violations)
	return r
}
