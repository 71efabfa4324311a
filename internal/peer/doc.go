// Package peer has HTTP/1.1 and HTTP/2 servers that misbehave on demand and remember
// what they did. Tests run a Server in their own process; the bench runs it in a child
// process (Spawn), so that CPU and allocations measured are the client's alone.
//
// A Server is cheap enough that the client dominates: one goroutine for a
// connection, one buffer in and one out, no net/http. It reads requests as far as
// RFC 9112 framing needs it (Content-Length, chunked, Connection: close, Expect)
// and answers each with a 200 that repeats the request's id.
//
// Its faults: an idle timeout that is kept to the millisecond (Faults.IdleTimeout),
// a number of requests for each connection (Faults.MaxRequests), a restart that
// drops idle connections at once and busy ones after their answer (Drop), a time in which
// nobody listens (Down), connections that fall silent, and connections cut at a chosen point
// of a request (Cut, Faults.Cuts). Each closes in one of three styles: FIN, BareFIN, RST.
//
// Its oracle: a request counts as executed when the application has received it
// whole, by the number in its header X-Request-Id. Report tells how often each
// number was executed and which connections were accepted. After Close nothing
// more is executed, so a report made then is final.
//
// An H2Server is the same for HTTP/2, frame by frame. H2Conn.Serve is well-behaved but
// for H2Faults: GOAWAY in one step or two, refused streams, one by one or in waves, late
// SETTINGS, limits that change, silence, streams cut in the middle, a limit on PINGs. A script in Serve's place reads each frame and writes any. The report
// has, beside the oracle, what each connection carried and what the client did against
// RFC 9113.
//
// It is for loopback. It isn't a server to put on a network.
package peer
