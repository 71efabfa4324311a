package dialer

import (
	"net/http"
	"strconv"
	"strings"
)

// A ProxyError is an HTTP proxy's refusal to make a tunnel: its answer to CONNECT was
// not 2xx, or no HTTP at all.
type ProxyError struct {
	Status     int         // 407, 503, ...; 0: the answer was no HTTP, and Err says why
	StatusText string      // what the proxy wrote after the number; may be empty
	Header     http.Header // of the proxy's answer
	Body       []byte      // what came of its body within half a second, at most 4 KiB
	Err        error       // with Status 0
}

// Unwrap returns Err.
func (e *ProxyError) Unwrap() error { return e.Err }

// Error returns the number and the text of the status.
func (e *ProxyError) Error() string {
	if e.Status == 0 {
		return "the proxy's answer to CONNECT is no HTTP: " + printable(e.Err.Error())
	}
	text := e.StatusText
	if text == "" {
		text = http.StatusText(e.Status)
	}
	return "the proxy refused CONNECT: " + strconv.Itoa(e.Status) + " " + printable(text)
}

// maxStatusText bounds how much of a proxy's words goes into an error's text.
const maxStatusText = 200

func printable(s string) string {
	s = s[:min(len(s), maxStatusText)]
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// A HookError is what a caller's own GetProxyHeader or OnProxyResponse returned, or a panic of
// any function of the caller's that the dialer calls in a goroutine of its own.
type HookError struct{ Err error }

// Error returns the cause's text.
func (e *HookError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HookError) Unwrap() error { return e.Err }

// A SOCKSError is a SOCKS5 proxy's refusal to connect.
type SOCKSError struct {
	Reply byte // RFC 1928 section 6: 1 general failure, 2 not allowed, 3 network unreachable, 4 host unreachable, 5 refused, ...
	Err   error
}

// Error returns the cause's text, which names the reply.
func (e *SOCKSError) Error() string { return e.Err.Error() }

// Unwrap returns the cause, a *net.OpError.
func (e *SOCKSError) Unwrap() error { return e.Err }
