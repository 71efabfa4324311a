package pool

import (
	"errors"
	"strings"
	"time"

	"example.com/connwise/health"
)

var (
	// ErrIdleLimit is why a Guard refuses a connection that was idle for too long.
	ErrIdleLimit = errors.New("pool: the connection was idle for too long")
	// ErrPeerClosed is why a Guard refuses a connection that its peer has closed.
	ErrPeerClosed = errors.New("pool: the peer had closed the connection")
)

// A GuardError is what Write returns on a connection of a Guard that must not carry another
// request. None of the bytes of that Write were accepted, and none of a later one will
// be: the connection is closed. It says nothing of what was written before, so it is no
// proof for a request; counting what the connection accepted is (see Accepted).
type GuardError struct {
	Host   string        // as in Stats: "host:port", of the proxy if there is one
	Addr   string        // the remote address
	Reused bool          // it had carried a request before
	Idle   time.Duration // since a byte had passed last
	Limit  time.Duration // the idle limit in force, zero for none
	Err    error         // ErrIdleLimit or ErrPeerClosed
	// Cause is how the peer had closed it, with ErrPeerClosed.
	Cause health.Cause
}

// Error names the host, the reason, and for how long nothing had passed.
func (e *GuardError) Error() string {
	var b strings.Builder
	b.WriteString("pool: ")
	b.WriteString(e.Host)
	b.WriteString(": refused before a byte was written, after ")
	b.WriteString(e.Idle.Round(time.Millisecond).String())
	b.WriteString(" without one: ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns Err.
func (e *GuardError) Unwrap() error { return e.Err }
