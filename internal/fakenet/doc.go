// Package fakenet has network connections in memory, for tests in testing/synctest
// bubbles: blocked calls wait on nothing but a sync.Cond and package time, so that fake
// time goes on. Unlike net.Pipe's, they buffer, as a socket does: bytes can be sent and
// not yet seen, and a close or reset can be under way.
//
// What a peer's end means follows TCP on Linux: Close sends a FIN, or an RST if there
// are unread bytes; the first Write after a FIN is accepted and answered with an RST;
// bytes that have arrived can be read even after an RST. It's a model: what depends on
// the kernel itself is for tests on real sockets.
package fakenet
