package h2

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
)

// ErrStreamLimit says that the peer lowered its limit of streams before the request had one.
// The connection is well, and nothing of the request has left.
var ErrStreamLimit = errors.New("h2: the peer takes fewer streams now")

// A ConnError says that the peer broke the protocol so that the connection had to end.
type ConnError struct {
	Code   http2.ErrCode
	Reason string
	Err    error // may be nil
}

// Error names the code and the reason.
func (e *ConnError) Error() string {
	s := fmt.Sprintf("h2: connection error: %v: %s", e.Code, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *ConnError) Unwrap() error { return e.Err }

func protocolError(format string, args ...any) error {
	return &ConnError{Code: http2.ErrCodeProtocol, Reason: fmt.Sprintf(format, args...)}
}

func flowError(format string, args ...any) error {
	return &ConnError{Code: http2.ErrCodeFlowControl, Reason: fmt.Sprintf(format, args...)}
}

// A GoAwayError says that the connection had been announced to end when a stream on it
// failed: by the peer's GOAWAY, or by this side (Local).
type GoAwayError struct {
	GoAway
	StreamID uint32 // zero if it never had one
	Err      error  // how the connection ended; nil if it goes on for other streams
}

// Error names the last id and the code.
func (e *GoAwayError) Error() string {
	var b strings.Builder
	if e.Local {
		b.WriteString("h2: the connection takes no new stream")
	} else {
		fmt.Fprintf(&b, "h2: the peer sent GOAWAY (last stream %d, %v", e.LastStreamID, e.Code)
		if e.Debug != "" {
			fmt.Fprintf(&b, ", %q", e.Debug)
		}
		b.WriteByte(')')
	}
	if e.StreamID != 0 {
		fmt.Fprintf(&b, ", this was stream %d", e.StreamID)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns how the connection ended.
func (e *GoAwayError) Unwrap() error { return e.Err }
