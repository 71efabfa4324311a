package pool

import "example.com/connwise/internal/wire"

// phaseOf turns what a connection did into a phase. There are two proofs that a request is
// unprocessed: the connection accepted none of its bytes; or, with HTTP/2, the peer said so
// (Facts.Refused). A close without an answer proves nothing, since the server may have
// run the request.
func phaseOf(f wire.Facts) Phase {
	switch {
	case f.Answered && f.Sent > 0:
		return PhaseResponse
	case f.Sent == 0:
		return PhaseUnsent
	case f.Refused:
		return PhaseRefused
	case f.AllSent:
		return PhaseSent
	}
	return PhaseSending
}

// reasonOf names the close reason of an exchange that ended without its connection
// being reusable.
func reasonOf(why wire.End) CloseReason {
	switch why {
	case wire.EndNotKept:
		return ReasonNotKept
	case wire.EndUnread:
		return ReasonUnread
	case wire.EndUpload:
		return ReasonUploadUnsent
	case wire.EndSurplus:
		return ReasonUnsolicited
	case wire.EndCancelled:
		return ReasonCancelled
	case wire.EndTimeout:
		return ReasonTimeout
	case wire.EndUpgraded:
		return ReasonUpgraded
	}
	return ReasonError
}
