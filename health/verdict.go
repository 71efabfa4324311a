package health

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A Verdict is the result of a look at a connection.
type Verdict uint8

const (
	// Unknown: the look can't tell. The connection isn't a socket, the platform has no
	// way to look, or what waits may be the TLS layer's own.
	Unknown Verdict = iota
	// Alive: the connection is open as far as this host knows, and nothing waits to be read.
	Alive
	// Dead: the connection must not carry another request.
	Dead
)

var verdictNames = [...]string{Unknown: "unknown", Alive: "alive", Dead: "dead"}

// String returns "unknown", "alive" or "dead".
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "verdict " + strconv.Itoa(int(v))
}

// ErrSurplus is the reason of a Dead verdict when bytes wait on a connection on
// which nothing was asked. On HTTP/1 they would be taken for the answer to the next
// request (RFC 9112 section 9.2 wants such a connection closed).
var ErrSurplus = errors.New("health: bytes that nobody asked for")

var (
	// errAlert is what is known of an encrypted alert: there is nothing to follow it
	// but the end of the connection.
	errAlert = fmt.Errorf("health: a TLS alert is waiting: %w", io.EOF)
	// errPending is the reason of Unknown for records that may be session tickets.
	errPending = errors.New("health: TLS records are waiting")
	// errNoSocket is the reason of Unknown for what isn't a socket.
	errNoSocket = errors.New("health: no socket to look at")
)

// Socket takes one look at c. It neither blocks nor consumes a byte of what c's Read
// will return. The error is the reason of a Dead verdict: io.EOF for a FIN, the errno
// wrapped for an RST, ErrSurplus for unasked bytes, net.ErrClosed for a connection
// closed on this side. With Unknown it is nil or the reason, with Alive nil.
//
// If c has a method Look() (Verdict, error), as TLSClient has, it is used. Else c has
// to be a syscall.Conn, or to wrap one and give it by NetConn() net.Conn. For TLS
// connections not made by NewTLSClient see Probe.
//
// Socket must not run at the same time as a Read on c. For repeated looks at one
// connection a Probe costs less.
func Socket(c net.Conn) (Verdict, error) { return NewProbe(c).Look() }
