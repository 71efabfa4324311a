// Package retry sends a request again when that is safe.
//
// Whether it is safe is not guessed from an error's text or type. Package pool
// says how far a request got ([pool.Phase]); a [Policy] reads that and a few more
// plain facts, and decides:
//
//   - The request provably reached no server that processed it (no byte of it was
//     accepted by a connection, or the peer said so): any method is sent again.
//   - It may have been processed: only GET, HEAD and OPTIONS are sent again, and
//     other methods when the caller said that it may be executed twice, by an
//     Idempotency-Key header or [WithIdempotent]. "No answer came" is no proof.
//   - The peer has its head at most, as the body waited for a word that never came: any
//     method is sent again if the policy says so (ResendHeadOnly).
//   - An HTTP answer is an answer. It is returned, whatever its status, unless the
//     policy names the status and the answer carries a Retry-After.
//   - The caller's own fault (an invalid request, a body that fails, a hook's veto,
//     an ended context), a closed transport, and a wait for capacity that took too
//     long are final.
//   - A body that can't be had again is never sent twice: once an attempt has read from it, it
//     was the last.
//
// A request's walk: [Transport.RoundTrip] (transport.go) counts the call for the [Budget] and
// gives the caller's request to Base, as it is where it can (attempt.go). That is all that happens
// when it succeeds. On a failure observe.go collects the facts into an [Outcome],
// [Policy.Decide] (decide.go, pure) gives a [Verdict], call.go asks whether time and budget
// allow it, again.go waits, body.go gets the body again, and the next attempt goes to Base as a
// shallow copy of the request. The caller's request is never changed.
//
// What became of each attempt is in a [Report]: on the answer (report.go), and on the [Error] in
// which a call fails that was retried (errors.go). errors.Is and errors.As find the last
// attempt's error; Unprocessed is true only if it is of every attempt.
//
// The presets (presets.go) differ in what they think of timeouts, opt-ins and answers; [Matrix]
// lists any policy in full.
//
// [Transport] works over every http.RoundTripper, but only a [pool.Transport] reports phases.
// Over an [http.Transport] whose connections come from a [pool.Guard] or a [dialer.Dialer]
// tracker.go counts bytes: where none of the connections that an attempt got has accepted
// one, it was never sent. Otherwise another transport's errors count as "may have been
// processed", except those whose type says that there was no connection: a [dialer.Error], and
// net's of a dial or a lookup. An invalid request isn't known for one there: a GET is tried again.
//
// What this package refuses to do: send two attempts at a time, buffer a body in
// memory, follow redirects, or wait longer than the request's context allows.
package retry
