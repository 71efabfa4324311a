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
//	memory.go    addresses that have failed; note.go what tells of that
//	avoid.go     addresses that a call would rather not have
//	caching.go   answers of a resolver, kept
//	hook.go      a caller's own function in place of resolve and connect
//	tunnel.go    an HTTP proxy's CONNECT; socks.go SOCKS5
//	tls.go       the handshake
//	limit.go     time limits, and whose limit it was
//	usertimeout.go  how long an open connection's peer may be silent
//
// A Memory, if the Dialer has one, holds which addresses have failed, and has them tried last
// for a while. Avoid asks that for one call, about an address that has just failed there. A
// CachingResolver keeps answers for a few seconds.
//
// Beyond that the package remembers nothing between two dials. It keeps no connections, and
// retries nothing but the addresses of one name.
package dialer
