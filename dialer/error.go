package dialer

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Stage is a part of opening a connection.
type Stage uint8

const (
	StageResolve Stage = iota + 1 // looking up the host's addresses
	StageConnect                  // the TCP (or Unix) connection, to the host or to its proxy
	StageProxy                    // CONNECT or SOCKS5
	StageTLS                      // the TLS handshake with the host, or with an https proxy
)

var stageNames = [...]string{
	StageResolve: "resolve",
	StageConnect: "connect",
	StageProxy:   "proxy",
	StageTLS:     "tls",
}

// String returns "resolve", "connect", "proxy" or "tls".
func (s Stage) String() string {
	if s > 0 && int(s) < len(stageNames) {
		return stageNames[s]
	}
	return "stage " + strconv.Itoa(int(s))
}

// An Error says that a connection could not be opened. Unwrap gives the cause, so that
// errors.Is and errors.As find *net.DNSError, *net.OpError, syscall.Errno, *ProxyError,
// *SOCKSError, *tls.CertificateVerificationError, and a context's error and cause. A
// failure to reach a proxy (resolve, connect, and TLS with an https proxy) has a
// *net.OpError with Op "proxyconnect" in the chain, as in net/http.
type Error struct {
	Stage Stage
	// Addr is the "host:port" (or path) that the stage was about: the origin's, or the
	// proxy's while that had to be reached. It never contains credentials.
	Addr string
	// Tries are the addresses that were tried, in the order in which they were started.
	// Empty if none was, or if a hook made the connection.
	Tries []Try
	Err   error
}

// A Try is an attempt to connect to one address.
type Try struct {
	Addr string        // "ip:port"
	Err  error         // why it failed
	Took time.Duration // from its start to its end
}

// Error names the stage, the address, the cause, and the number of addresses tried if
// there were several.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("dialer: ")
	b.WriteString(e.Stage.String())
	b.WriteByte(' ')
	b.WriteString(e.Addr)
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if n := len(e.Tries); n > 1 {
		b.WriteString(" (" + strconv.Itoa(n) + " addresses tried)")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a time limit: the stage's, a context's deadline,
// or the kernel's.
func (e *Error) Timeout() bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.Err)
	return ok && t.Timeout()
}

// Temporary is what net.Error asks for. It reports the same as Timeout.
func (e *Error) Temporary() bool { return e.Timeout() }
