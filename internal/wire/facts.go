package wire

// Facts are what is known about an exchange. They are final once Start has failed.
type Facts struct {
	// Sent counts the bytes of the request that the connection's Write accepted: the
	// sum of what it returned, before encryption.
	Sent int64
	// AllSent says that the whole request was accepted.
	AllSent bool
	// BodyTouched says that Request.Body was read from: that its Read was called.
	BodyTouched bool
	// BodyBusy says that a call of Request.Body was under way and couldn't be ended.
	// It may still read, so the body can't be sent again.
	BodyBusy bool
	// Answered says that a byte of an answer arrived, be it an interim one.
	Answered bool
	// HeadOnly says that some of the request's head was accepted and that none of its body was
	// given to the connection, as the peer was asked for its consent (Expect: 100-continue)
	// and not a byte of an answer came.
	HeadOnly bool
	// Unheard says that the peer was asked for its consent and kept silent for as long as it
	// may, so that the body was sent on.
	Unheard bool
	// Refused says that the peer proved that it did not process the request: with HTTP/2, by
	// a GOAWAY whose last stream id is below the request's, or by REFUSED_STREAM (RFC 9113
	// section 8.7).
	Refused bool
	// KeepAlive is the value of the answer's Keep-Alive fields, joined by commas (RFC 9110
	// section 5.3), empty if there is none.
	KeepAlive string
}
