package pool

import "example.com/connwise/internal/h1"

// phaseOf turns what an HTTP/1.1 connection did into a phase. The only proof that a
// request is unprocessed is that the connection accepted none of its bytes: a close
// without an answer proves nothing, since the server may have run the request.
func phaseOf(f h1.Facts) Phase {
	switch {
	case f.Answered && f.Sent > 0:
		return PhaseResponse
	case f.Sent == 0:
		return PhaseUnsent
	case f.AllSent:
		return PhaseSent
	}
	return PhaseSending
}

// reasonOf names the close reason of an exchange that ended without its connection
// being reusable.
func reasonOf(why h1.End) CloseReason {
	switch why {
	case h1.EndNotKept:
		return ReasonNotKept
	case h1.EndUnread:
		return ReasonUnread
	case h1.EndUpload:
		return ReasonUploadUnsent
	case h1.EndSurplus:
		return ReasonUnsolicited
	case h1.EndCancelled:
		return ReasonCancelled
	case h1.EndTimeout:
		return ReasonTimeout
	case h1.EndUpgraded:
		return ReasonUpgraded
	}
	return ReasonError
}
