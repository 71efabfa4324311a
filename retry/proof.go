package retry

import (
	"errors"

	"example.com/connwise/pool"
)

// Evidence says what is known of a failed attempt: whether a server may have processed the request.
type Evidence uint8

const (
	// EvidenceMaybeSent: nothing proves that it was not processed.
	EvidenceMaybeSent Evidence = iota
	// EvidenceNeverSent: no connection has accepted a byte of it.
	EvidenceNeverSent
	// EvidenceRefused: the peer said that it did not process it (RFC 9113 section 8.7).
	EvidenceRefused
)

var evidenceNames = [...]string{"maybe sent", "never sent", "refused"}

// String returns "maybe sent", "never sent" or "refused".
func (e Evidence) String() string { return evidenceNames[min(int(e), len(evidenceNames)-1)] }

// Unprocessed reports whether the evidence proves that no server has processed the request.
func (e Evidence) Unprocessed() bool { return e == EvidenceNeverSent || e == EvidenceRefused }

// evidenceOf is what a phase proves.
func evidenceOf(p pool.Phase) Evidence {
	switch {
	case p == pool.PhaseRefused:
		return EvidenceRefused
	case p.Unprocessed():
		return EvidenceNeverSent
	}
	return EvidenceMaybeSent
}

// A Proof names what proves that a request was not processed.
type Proof string

// The proofs.
const (
	ProofNone         Proof = ""
	ProofNoConnection Proof = "no connection"    // it never had one
	ProofNoByte       Proof = "no byte accepted" // its connection took nothing of it
	ProofGoAway       Proof = "GOAWAY"           // HTTP/2: its stream is above the last one that the peer processed
	ProofRefused      Proof = "REFUSED_STREAM"   // HTTP/2: the peer reset its stream with this code
)

// proofOf names the proof in a failure.
func proofOf(p pool.Phase, err error) Proof {
	switch p {
	case pool.PhaseWait, pool.PhaseDial:
		return ProofNoConnection
	case pool.PhaseUnsent:
		return ProofNoByte
	case pool.PhaseRefused:
		if _, ok := errors.AsType[*pool.GoAwayError](err); ok {
			return ProofGoAway
		}
		return ProofRefused
	}
	return ProofNone
}
