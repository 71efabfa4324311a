// Package h1 makes HTTP/1.1 (and 1.0) exchanges on one connection: it writes a
// request, reads the answer, and reports facts. It has no policy: it doesn't retry,
// doesn't know of other connections, and names no phase.
//
// The walk of an exchange:
//
//   - frame.go decides how the body is delimited, head.go lays out the head.
//   - Start (exchange.go) sends both from the caller's goroutine (send.go). A body that
//     is absent or small goes out with the head in one Write. Any other has a writer
//     goroutine (upload.go, encode.go); caller.go holds its contract with the body.
//     With an expectation it waits for the peer's consent first (consent.go). On a plain
//     socket the look at the connection, the Write and the first read are one call (duplex.go).
//   - answer.go reads the answer's head, passing interim answers by. The caller's
//     goroutine does it, also while the writer is at work, so an early answer is seen.
//     Most heads are of one form, which usual.go parses.
//   - body.go reads the answer's body, gzip.go decodes it, drain.go ends it early, and
//     upgrade.go stands in for it after 101.
//   - watch.go ends it with the context and the limits of Options.
//   - state.go settles how the exchange ends. Whoever ends it (a Read at the end of the
//     body, Close, the writer, a cancelled context, a timer) calls the Owner, once.
//
// An idle connection holds no goroutine and no buffer: both come with the exchange
// and go with it. What isn't of the usual form is parsed by
// net/http's ReadResponse, and what is has the same outcome.
package h1
