package main

import (
	"net/http"

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

// An around is a RoundTripper over a Transport, which lacks the method that closes what is
// idle there.
type around struct {
	http.RoundTripper
	base *http.Transport
}

// CloseIdleConnections closes those of the Transport.
func (a around) CloseIdleConnections() { a.base.CloseIdleConnections() }
