// Package oracle has tests only: they hold what clients say of a request's fate against what
// the peers know of it, many thousand times.
//
// The peers fail at random in every way they know. Each notes what arrived, what it executed
// and what it said; it never lies, so its notes are the truth. The client's side notes each
// attempt, what the error claims, and which connections the attempt had. At the end a judge
// compares the two:
//
//   - precision: what an error calls unprocessed was not executed, and nothing that may not
//     be executed twice is;
//   - recall: where the notes have a proof that an attempt was not processed, its error
//     says so, and the request was sent again.
//
// The proofs are four: there was no connection; no byte of the request was accepted by one, or
// with HTTP/2 no stream was opened for it; its stream is above the last id of a GOAWAY; it
// was refused by RST_STREAM(REFUSED_STREAM).
//
// The same load goes to net/http, whose figures stand beside in the table.
//
//	CONNWISE_ORACLE=200000    requests of each client, over all protocols
//	CONNWISE_ORACLE_SEED=1    repeats a run, as far as sockets allow
package oracle
