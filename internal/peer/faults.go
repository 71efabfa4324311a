package peer

import (
	"bytes"
	"time"
)

// A Style says how a connection is closed.
type Style string

const (
	// FIN closes in an orderly way: with TLS a close_notify, then a FIN.
	FIN Style = "fin"
	// BareFIN closes with a FIN and no close_notify. Without TLS it equals FIN.
	BareFIN Style = "bare-fin"
	// RST resets the connection; what the client had not yet read may be lost.
	RST Style = "rst"
	// Silence closes nothing: from then on what comes is read and dropped, and nothing is
	// sent, as where a NAT has forgotten the connection (but for TCP's acknowledgements).
	// Only an idle timeout ends a connection so.
	Silence Style = "silence"
)

// Faults say how a Server treats its connections. The zero Faults serve for ever,
// at once, with an empty body.
type Faults struct {
	// IdleTimeout closes a connection so long after an answer's last byte was
	// written. A connection that has carried no request yet stays open, as it does for
	// much longer with most proxies. Zero: never.
	IdleTimeout time.Duration `json:"idle_timeout_ns,omitempty"`
	// MaxRequests closes a connection behind its answer number so many. Zero: no limit.
	MaxRequests int `json:"max_requests,omitempty"`
	// Announce makes the answer of MaxRequests say "Connection: close".
	Announce bool `json:"announce,omitempty"`
	// Unannounced takes Announce back for one of so many connections: for 2, the second,
	// the fourth and so on, as they are accepted. Their last answer and the FIN leave in one
	// segment, as with Drop.Busy. Zero: for none.
	Unannounced int `json:"unannounced,omitempty"`
	// Cuts are of single requests. SetCut's come first.
	Cuts Cuts[Cut] `json:"cuts,omitzero"`
	// Style is how IdleTimeout and MaxRequests close. Empty: FIN.
	Style Style `json:"style,omitempty"`
	// Delay is the time between a request's execution and its answer.
	Delay time.Duration `json:"delay_ns,omitempty"`
	// BodySize is the length of an answer's body in bytes, 16 MiB at most. It is Pattern's.
	BodySize int `json:"body_size,omitempty"`
	// Upload is how long the body of each POST is to be, and it is to be Pattern's. Another
	// one is executed and answered, too, and counted in Report.Damaged. Zero: nobody looks.
	Upload int64 `json:"upload,omitempty"`
}

// A Drop is what happens to connections at a restart of the peer.
type Drop struct {
	// Style is how connections are closed. Empty: FIN.
	Style Style `json:"style,omitempty"`
	// Busy says which connections: false, those that are idle, now; true, all of
	// them behind their next answer, which does not announce it. With FIN and
	// BareFIN that answer and the FIN leave in one segment where the system can do
	// it (Linux), so that a client which has the answer can see the FIN too.
	Busy bool `json:"busy,omitempty"`
}

// A CutPoint is where in a request a connection is cut.
type CutPoint string

const (
	// CutBefore: the whole request was read, and was not executed.
	CutBefore CutPoint = "before"
	// CutAfter: the request was executed, and no byte of the answer was written.
	CutAfter CutPoint = "after"
	// CutHead: the request was executed, and half of the answer's head was written.
	CutHead CutPoint = "head"
	// CutHalf: the request was executed, and half of the answer was written.
	CutHalf CutPoint = "half"
)

// A Cut closes the connections of coming requests in the middle of them.
type Cut struct {
	At    CutPoint `json:"at"`
	Style Style    `json:"style,omitempty"` // empty: FIN
	// Next is how many requests, over all connections, are cut. It replaces what was
	// left of an earlier Cut; zero ends it. Of Faults.Cuts it isn't used.
	Next int `json:"next"`
}

// length returns how much of an answer is written.
func (c Cut) length(out, rest []byte) int {
	if c.At == CutHead {
		return bytes.Index(out, []byte("\r\n\r\n")) / 2
	}
	return (len(out) + len(rest)) / 2
}
