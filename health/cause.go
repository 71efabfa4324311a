package health

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A Cause is how an idle connection came to its end.
type Cause uint8

const (
	// CauseUnknown: nobody is known to have closed it. The connection is gone by a timer
	// of this host's kernel or by an error of the TLS layer, or it was closed on this side.
	CauseUnknown Cause = iota
	// CauseFIN: the peer's FIN, on TLS without a close_notify before it.
	CauseFIN
	// CauseReset: the peer's RST.
	CauseReset
	// CauseCloseNotify: the peer's TLS layer said that it's over, with a FIN or without.
	CauseCloseNotify
	// CauseSurplus: bytes that nobody asked for.
	CauseSurplus
	// CauseRequestTimeout: an answer with the status 408 that nobody asked for. It is
	// how some servers close a connection on which no request came in their time
	// (RFC 9110 section 15.5.9).
	CauseRequestTimeout
)

var causeNames = [...]string{
	CauseUnknown:        "unknown",
	CauseFIN:            "fin",
	CauseReset:          "reset",
	CauseCloseNotify:    "close_notify",
	CauseSurplus:        "surplus",
	CauseRequestTimeout: "408",
}

// String returns "unknown", "fin", "reset", "close_notify", "surplus" or "408".
func (c Cause) String() string {
	if int(c) < len(causeNames) {
		return causeNames[c]
	}
	return "cause " + strconv.Itoa(int(c))
}

var (
	// errCloseNotify is io.EOF to those who ask whether the connection has ended.
	errCloseNotify = fmt.Errorf("health: the peer has closed the TLS connection: %w", io.EOF)
	// errRequestTimeout is surplus: no answer was asked for, be it the right one.
	errRequestTimeout = fmt.Errorf("%w: an answer with the status 408", ErrSurplus)
)

// CauseOf returns the cause behind the error of a Dead verdict: one of Socket, of Look of a
// Probe, a TLSClient or a Vigil, or what a Vigil reports. An io.EOF that Read of a TLS
// connection returned tells FIN and close_notify not apart: see CauseOfRead.
//
// A socket tells of its RST once, to whoever asks first; after that it looks like a FIN.
// So the first look counts.
func CauseOf(err error) Cause {
	switch {
	case err == nil:
		return CauseUnknown
	case errors.Is(err, errRequestTimeout):
		return CauseRequestTimeout
	case errors.Is(err, ErrSurplus):
		return CauseSurplus
	case errors.Is(err, errCloseNotify), errors.Is(err, errAlert):
		return CauseCloseNotify
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return CauseFIN
	case isReset(err):
		return CauseReset
	}
	return CauseUnknown
}

// CauseOfRead is CauseOf for the error of a Read on c, which reads all the time as HTTP/2's
// read loop does. Of a TLSClient it can tell a close_notify from a FIN.
func CauseOfRead(c net.Conn, err error) Cause { return CauseOf(endOf(c, err)) }

// endOf makes a close_notify of an io.EOF that is one.
func endOf(c net.Conn, err error) error {
	if t, ok := c.(*TLSClient); ok && err == io.EOF && !t.Truncated() {
		return errCloseNotify
	}
	return err
}

// surplusHead is how many bytes of surplus are looked at to tell a 408: all that the
// beginning of "HTTP/1.1 408 Request Timeout" has to say, and the space behind it.
const surplusHead = len("HTTP/1.1 408 ")

// surplus names the surplus that begins with b.
func surplus(b []byte) error {
	if IsRequestTimeout(b) {
		return errRequestTimeout
	}
	return ErrSurplus
}

// IsRequestTimeout tells whether b begins with the status line of an HTTP/1 answer whose status
// is 408: with all of "HTTP/1.1 408", and what is behind that, if there is more, doesn't go on
// with the number.
func IsRequestTimeout(b []byte) bool {
	const version, status = "HTTP/1.", " 408"
	if len(b) < len(version)+1+len(status) || string(b[:len(version)]) != version {
		return false
	}
	minor, rest := b[len(version)], b[len(version)+1:]
	if minor < '0' || minor > '9' || string(rest[:len(status)]) != status {
		return false
	}
	rest = rest[len(status):]
	return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\r' || rest[0] == '\n'
}
