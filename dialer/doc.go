// Package dialer opens connections: it resolves a name, connects to the best of its
// addresses, passes a proxy, and makes the TLS handshake.
//
// Each of these is a Stage with a time limit of its own, and a failure is an *Error
// that says in which stage it happened. Whatever fails here, no byte of a request has
// been sent.
//
// There are two ways in. Dialer.DialContext resolves and connects; it fits
// http.Transport's field of that name. Dialer.Dial goes the whole way that a Route
// describes and returns a Link, ready for HTTP; the pool uses it.
//
//	route.go     the stages in order
//	resolve.go   a name's addresses
//	race.go      several addresses, staggered (RFC 8305); order.go their order
//	hook.go      a caller's own function in place of resolve and connect
//	tunnel.go    an HTTP proxy's CONNECT; socks.go SOCKS5
//	tls.go       the handshake
//	limit.go     time limits, and whose limit it was
//	usertimeout.go  how long an open connection's peer may be silent
//
// The package keeps no connections, remembers nothing between two dials, and retries
// nothing beyond the addresses of one name.
package dialer
