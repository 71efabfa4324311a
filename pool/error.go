package pool

import (
	"errors"
	"strings"
	"time"

	"example.com/connwise/internal/wire"
)

var (
	// ErrClosed is the cause of every failure after Close or Shutdown.
	ErrClosed = errors.New("pool: transport is closed")
	// ErrWaitTimeout is the cause when no connection came free within MaxWait.
	// Its Timeout method reports true.
	ErrWaitTimeout error = &waitTimeoutError{}
	// ErrTooManyWaiters is the cause when MaxWaiters requests were waiting already.
	ErrTooManyWaiters = errors.New("pool: too many requests are waiting for a connection")
)

type waitTimeoutError struct{}

func (*waitTimeoutError) Error() string   { return "pool: no connection came free within MaxWait" }
func (*waitTimeoutError) Timeout() bool   { return true }
func (*waitTimeoutError) Temporary() bool { return true }

// An Error is the one type in which RoundTrip and a response body report a
// failure. Its fields are facts; no decision needs its text. Unwrap gives the
// cause, so errors.Is and errors.As find context errors, *dialer.Error,
// *CallerError, syscall.Errno, io.ErrUnexpectedEOF and the like.
type Error struct {
	Phase Phase
	// Host is the key of the host in Stats: "host:port".
	Host string
	// Proto is the protocol of the connection, "HTTP/1.1" or "HTTP/2.0"; empty without one.
	Proto string
	// Addr is the connection's remote address; empty without one.
	Addr string
	// Reused says that the connection had carried a request before.
	Reused bool
	// Idle is how long the connection had been idle when it was taken.
	Idle time.Duration
	// Waited is how long the request waited for a connection, and Queued how many
	// requests were in the host's queue when it gave up, itself included, or when it was
	// turned away (ErrTooManyWaiters). Those whose dial is under way count, so Queued may be
	// more than MaxWaiters. Both are set with PhaseWait only.
	Waited time.Duration
	Queued int
	// Sent counts the request's bytes that the connection accepted (before
	// encryption, so that it can be compared with the message).
	Sent int64
	// HeadOnly says that the request has content, that its head was sent, or a part of it, and
	// that not a byte of the content was, as it waited for the peer's 100 Continue (RFC 9110
	// section 10.1.1), and nothing came. The phase is PhaseSending. It is no proof that the
	// request is unprocessed: a proxy may have passed the head on, and a handler begun. It is
	// so over HTTP/2 too, where the caller has set Expect.
	HeadOnly bool
	// BodyTouched says that the request has a body that can't be had again (no
	// GetBody) and that it was read from: it can't be sent a second time.
	BodyTouched bool
	// Resent counts how often the pool had sent the request again before this failure,
	// because the peer had refused it. GOAWAYs that ended connections which had served others
	// count only if such a one is this failure, too: otherwise they are like a stale connection.
	Resent int
	Err    error
}

// Error names the phase, the host, what is known of the connection, and the cause.
func (e *Error) Error() string {
	if c, ok := e.Err.(*CallerError); ok && c.Source == CallerRequest {
		return c.Error() // there is no connection or host to speak of
	}
	var b strings.Builder
	b.WriteString("pool: ")
	b.WriteString(e.Host)
	b.WriteString(": ")
	b.WriteString(phaseText[min(int(e.Phase), len(phaseText)-1)])
	if e.HeadOnly {
		b.WriteString(", with the head sent and nothing of the body,")
	}
	if e.Reused {
		b.WriteString(" on a reused connection")
		if e.Idle > 0 {
			b.WriteString(", idle for ")
			b.WriteString(e.Idle.Round(time.Millisecond).String())
		}
	}
	if e.Phase == PhaseWait && e.Waited > 0 {
		b.WriteString(" for ")
		b.WriteString(e.Waited.Round(time.Millisecond).String())
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

var phaseText = [...]string{
	PhaseUnknown:  "failed at an unknown point",
	PhaseWait:     "waited for a connection",
	PhaseDial:     "could not connect",
	PhaseUnsent:   "failed before a byte was sent",
	PhaseRefused:  "refused by the peer, unprocessed",
	PhaseSending:  "failed while sending",
	PhaseSent:     "sent, failed before an answer",
	PhaseResponse: "failed while reading the answer",
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Unprocessed reports whether no server has processed the request, so that any method may be sent
// again: Phase.Unprocessed. False is no proof of the contrary.
func (e *Error) Unprocessed() bool { return e.Phase.Unprocessed() }

// Timeout reports whether the cause was a time limit: a context's deadline, or
// one of the transport's or dialer's own.
func (e *Error) Timeout() bool { return wire.IsTimeout(e.Err) }

// Temporary is what net.Error asks for. It reports the same as Timeout.
func (e *Error) Temporary() bool { return e.Timeout() }

// A CallerSource says which part of the caller's side failed.
type CallerSource uint8

const (
	// CallerRequest: the request can't be sent as it is (no URL, an invalid header, ...).
	CallerRequest CallerSource = iota + 1
	// CallerBody: reading the request's body, or GetBody, failed, or its length was wrong.
	CallerBody
	// CallerHook: a hook (BeforeSend, a trace) returned an error, or a dial hook panicked.
	CallerHook
)

// A CallerError in a chain says that the failure came from the caller's side and
// not from the network. Sending the request again would fail in the same way, so
// nothing does.
type CallerError struct {
	Source CallerSource
	Err    error
}

// Error returns the cause's text.
func (e *CallerError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CallerError) Unwrap() error { return e.Err }
