package pool

import (
	"example.com/connwise/internal/h2"

	"golang.org/x/net/http2"
)

// A GoAwayError says that the peer had announced the end of an HTTP/2 connection (RFC 9113
// section 6.8) when a request on it failed. With a stream above LastStreamID the request's
// phase is PhaseRefused; at or below it, the peer may have processed it.
type GoAwayError struct {
	LastStreamID uint32
	Code         http2.ErrCode
	Debug        string // what the peer added, cut at 256 bytes
	// StreamID is the request's stream, zero if it was never given one.
	StreamID uint32
	// Err is how the connection ended; nil if it goes on for the requests that the peer has
	// accepted.
	Err error
}

// Error names the last id and the code.
func (e *GoAwayError) Error() string {
	away := h2.GoAway{LastStreamID: e.LastStreamID, Code: e.Code, Debug: e.Debug}
	return (&h2.GoAwayError{GoAway: away, StreamID: e.StreamID, Err: e.Err}).Error()
}

// Unwrap returns how the connection ended.
func (e *GoAwayError) Unwrap() error { return e.Err }
