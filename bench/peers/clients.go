package main

import (
	"net/http"
	"time"

	"example.com/connwise/bench"
)

// clients are all of them, in the table's order. What is called "net/http" is the same as in
// "connwise bench": the others' CPU is compared with it.
func clients() []bench.Client {
	return []bench.Client{
		bench.Connwise(), bench.NetHTTP(), netHTTPDefault(), netHTTPTuned(),
		fastHTTP(), httpLB(), retryableHTTP(), failsafeGo(), bench.Floor(),
	}
}

// idleLimit is how long a connection may be idle where the server closes it after timeout:
// a tenth less, at least 25 ms and at most 5 s less, but no less than half. It's connwise's
// own margin, so that nobody has a better one. Zero stays zero: nothing is known.
func idleLimit(timeout time.Duration) time.Duration {
	margin := min(max(timeout/10, 25*time.Millisecond), 5*time.Second)
	return timeout - min(margin, timeout/2)
}

// An around is a RoundTripper over a Transport, which lacks the method that closes what is
// idle there.
type around struct {
	http.RoundTripper
	base *http.Transport
}

// CloseIdleConnections closes those of the Transport.
func (a around) CloseIdleConnections() { a.base.CloseIdleConnections() }
