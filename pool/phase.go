package pool

import "strconv"

// A Phase says how far a request got before it failed. It is read from what
// the connection did, never from an error's text or type.
type Phase uint8

const (
	// PhaseUnknown: nothing is known. It counts as "may have been processed".
	PhaseUnknown Phase = iota
	// PhaseWait: no connection yet; the request waited for capacity.
	PhaseWait
	// PhaseDial: no connection yet; resolving, connecting, a proxy or TLS failed.
	// A *dialer.Error in the chain has the stage.
	PhaseDial
	// PhaseUnsent: a connection was held and accepted no byte of the request.
	PhaseUnsent
	// PhaseRefused: the peer said that it did not process the request
	// (RFC 9113 section 8.7: a stream above GOAWAY's last id, or REFUSED_STREAM). Said after an
	// interim answer (1xx) it isn't believed: a handler may have begun.
	PhaseRefused
	// PhaseSending: the connection accepted a part of the request.
	PhaseSending
	// PhaseSent: the connection accepted the whole request, no byte of an answer came.
	PhaseSent
	// PhaseResponse: the answer had begun.
	PhaseResponse
)

var phaseNames = [...]string{
	PhaseUnknown:  "unknown",
	PhaseWait:     "wait",
	PhaseDial:     "dial",
	PhaseUnsent:   "unsent",
	PhaseRefused:  "refused",
	PhaseSending:  "sending",
	PhaseSent:     "sent",
	PhaseResponse: "response",
}

// String returns the phase's name in lower case: "wait", "dial", "unsent", ...
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "phase " + strconv.Itoa(int(p))
}

// Unprocessed reports whether the phase proves that no server has processed the
// request, so that any method may be sent again. False is no proof of the contrary.
func (p Phase) Unprocessed() bool {
	switch p {
	case PhaseWait, PhaseDial, PhaseUnsent, PhaseRefused:
		return true
	}
	return false
}
