// Package pool is an http.RoundTripper that replaces http.Transport's connection
// handling: it keeps connections no longer than the proxy in front does, looks whether
// the peer is alive before each reuse, keeps a limit per host with a wait deadline, and
// says for every failure exactly how far the request got.
//
// # A request's walk
//
//  1. RoundTrip (transport.go) checks the request and finds its host (hosts.go) by
//     scheme, authority and proxy.
//  2. The host (host.go, acquire.go) hands out a stream of an HTTP/2 connection that has
//     one free (shared.go) or its newest idle connection (idle.go), or lets the request wait
//     (wait.go) in a FIFO queue (queue.go) for whatever comes first: a connection or a stream
//     that another request gives back, or one of the dials under way (dial.go). How many of
//     those there are depends on what the host speaks (expect.go) and on whether handshakes
//     queue (window.go) or hang (stuck.go, losthook.go); few outlive those who waited for them
//     (orphan.go); a host that gives every connection up at once is spared (storm.go). A
//     request that has failed at one address prefers another (avoid.go), or a connection that
//     is opened after that (fresh.go). What else a request asks for by its context is in
//     options.go.
//  3. judge (limit.go) decides from plain values whether a candidate may be used: idle
//     age against the limit in force, age, an end seen by the watcher.
//  4. The last thing before the first byte is one look at the socket, with no lock held
//     (look.go), which on a plain socket is a part of the call that writes (looklate.go). With
//     Config.ConfirmAfter a request that may not run twice wants more (caution.go): a PING
//     answered, 100 Continue before its body leaves (confirm.go), or a younger connection.
//  5. internal/h1 makes the exchange and collects facts (exchange.go); or internal/h2 makes it
//     on a stream (stream.go).
//  6. On an error, phaseOf (phaseof.go) turns the facts into the Phase of an *Error
//     (failure.go). A reused connection that took no byte, or whose peer said that it did
//     not process the request, is replaced without the caller's knowledge.
//  7. On success the call (call.go) is behind the answer's body, and used again after that
//     (answerbody.go). The body's end, an error or Close gives the connection back once: to
//     the oldest waiter, else to the idle stack, else it is retired with a reason (host.put, and retire.go). If somebody has the host's lock just
//     then, it may change hands beside it (tray.go). If the host was seen to send or close
//     behind its answers, the connection settles for 5 ms first (settle.go).
//
// # While a connection is idle
//
// The watcher tells when its peer closes it, and once it has been idle for a moment also what
// else arrives (rest.go). The host notes at what age and how (known.go), and learns from that
// after how long the peer closes idle connections (learn.go); a witness, left open unused,
// confirms it now and then (witness.go). What follows from all that is known is the idle
// limit in force (limit.go), which the sweeper keeps (sweep.go). When an idle connection
// turns out to be dead, those that idled as long are suspects (suspect.go).
//
// # Warm connections
//
// A keeper (keep.go) dials for nobody: for Transport.Warm (warm.go), for MinIdlePerHost, and for
// successors of connections that are about to reach their age or count of requests (renew.go).
// It is a timer of the host's that is set when something comes, goes or is taken. A run counts
// what there is (tally.go), without what is about to leave, and dials what is missing: at once
// where nothing in use could make up for it, else when the lack lasts. Its dials are served to
// the oldest waiter like any others, and count in the limit and the dial window; pace.go slows
// them down where the peer refuses or closes what nobody has asked for. A connection is given
// to no more requests than MaxRequestsPerConn says: it is counted when it is taken (shared.go),
// or used (exchange.go).
//
// # Many hosts
//
// Hosts share no lock that requests take: a request finds its host in a table cut into shards
// (aliases.go), each host has a sweep of its own (sweep.go), the bound of all idle connections
// looks at a few hosts (bound.go), and of the many that a crawler leaves behind those unused
// for longest are forgotten (unused.go).
//
// # What may be touched
//
// A connection and its slot of the host's limit are one value (conn). Whoever holds it
// gives it back by put or retire (retire.go), once; forgetConnLocked panics on a second time.
// Slots are counted over both hosts of an origin, where some requests need HTTP/1 and others
// go by HTTP/2 (slots.go). An HTTP/2 connection is held by many requests; each gives its hold
// back once, by put or drop, and the last one's retires a connection that is to go.
// Lock order: Transport.mu, idleHosts.mu, host.mu, and of hosts one at a time. Under any there
// is no I/O, no Close, no hook, and no call into internal/h1, internal/h2 or dialer. What
// internal/h2 calls (StreamDone, and the methods of h2.Events) is called without its locks.
//
// Config.Trace (trace.go) is told behind the locks: a dial before its connection is in anybody's
// hands, a connection's end when it has left the books and its slot is given back, by whoever
// lets go of its connTrace last (traceconn.go). tracelog.go writes it to log/slog.
//
// # A Guard
//
// For a stock http.Transport a Guard (guard.go) does what can be done below it. It shares with
// the above what is known of hosts and limits, and no connection: guardconn.go is the
// net.Conn that it gives out, guardsense.go tells where a request begins in what passes
// through that, guardslots.go has the limit and its queue. accepted.go is what package retry
// takes for proof.
//
// # What it doesn't do
//
// It makes one attempt, but for what it replaces silently (6.). Whether a request may be
// sent again beyond that is for package retry, which trusts the phase.
package pool
