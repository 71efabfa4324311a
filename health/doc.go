// Package health tells whether a connection's peer is still there, without sending
// a byte and without blocking.
//
// There are two ways to know, and a pool needs both; the third is for where they fail:
//
//   - A look (Socket, Probe, TLSClient.Look) asks the kernel what has arrived on one
//     connection: nothing, a FIN, an RST, or bytes that nobody asked for. It is the
//     last thing to do before a request is written on a connection that was idle.
//     A look says what has arrived, not what is under way: a FIN that is still on the
//     wire can't be seen by anyone.
//   - A watch (Watch) calls back when the FIN or the RST arrives, so that a dead
//     connection leaves the pool at once instead of at its next use; and, of a connection
//     that rests, when bytes arrive, which may be a close_notify. One goroutine serves all
//     watched connections, and it exists only while there are any. On Linux the kernel
//     tells it; on other Unix systems it looks at them now and then.
//   - A Vigil keeps a Read waiting on an idle connection, which costs a goroutine. It is
//     for what can't be looked at: wrappers of dial hooks, foreign TLS layers, Windows.
//
// CauseOf says how an idle connection was closed. ParseKeepAlive reads the idle time that a
// server announces, and Known has those of proxies and servers as they come.
//
// Windows has neither looks nor watches: its peek isn't known to be sound beside a Read, and
// the runtime's own poller can't be asked. There a Vigil is all there is.
//
// The package decides nothing: it doesn't close, retry or count. It knows no HTTP
// beyond the one header field.
package health
