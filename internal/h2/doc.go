// Package h2 makes HTTP/2 exchanges, many at a time, on one connection: it keeps the protocol
// (RFC 9113, with HPACK, RFC 7541), and reports facts. It has no policy: it doesn't retry,
// doesn't know of other connections, and names no phase. To keep to the peer's limit on streams
// is its owner's part, whom it tells; what was begun beyond a limit that was just lowered fails
// with ErrStreamLimit before a byte is sent.
//
// The walk of an exchange:
//
//   - Start (exchange.go) checks the request and makes its fields (validate.go, fields.go) in
//     the caller's goroutine, and puts it into a queue.
//   - Whoever holds the writer's role (write.go) makes a batch of what waits (commit.go): it
//     gives requests their ids and encodes them, takes data from uploads in turn, adds credit
//     and control frames, and writes. A batch knows whose its bytes are (batch.go), so what
//     Write accepted is known to the byte for each stream. A request that wasn't in a batch
//     can be taken back without a trace: that's the proof that it is unsent.
//   - The read loop (read.go), the connection's one goroutine, takes frames: header blocks
//     (headers.go, block.go) become answers (answer.go), data is kept in chunks (data.go,
//     chunk.go), the rest is in control.go. Those who wait are woken before it waits itself,
//     once each.
//   - Start waits (await.go), calls hooks, and returns the answer. The body is read from the
//     chunks (body.go).
//   - A body in memory is sent by whoever writes; a streamed one has a goroutine (upload.go),
//     which begins when the header section is out.
//   - state.go settles how a stream ends; ping.go asks whether the peer is there, and
//     confirm.go waits for its answer; close.go ends the connection.
//
// No caller waits in a Write. A socket, and health.TLSClient over one, is written without
// waiting, and a goroutine takes over what isn't taken at once; any other net.Conn is written by
// such a goroutine alone. It ends when there is nothing left.
//
// Memory that a peer can make a connection use is bounded: of each open stream, StreamWindow of
// unread data (and as much again in half-filled chunks); of a header section, MaxHeaderBytes; of
// answers to the peer's own frames, a thousand frames. With ConnWindow, all unread data
// together have that bound. A connection without streams has a goroutine, a 32 KiB buffer, and
// the two tables for header fields.
package h2
