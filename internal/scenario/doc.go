// Package scenario has tests only: what goes wrong between a client and its server in
// the field, on real sockets, through the public API. A peer is a script over a
// connection; a test says what must hold, and at its end that nothing was left behind.
//
// Times are scaled down: where a proxy would wait a minute, a peer here waits 300 ms.
package scenario
