// Package realproxy tests connwise behind real nginx and HAProxy, side by side with
// net/http. It has no code but its tests, which need the build tag "proxies":
//
//	make test-proxies
//	go test -tags proxies ./internal/realproxy/ -run IdleRace -v
//
// nginx and haproxy have to be installed, in PATH or in an sbin directory. Where one is
// missing, its tests are skipped, and with CI=true in the environment they fail. The
// tests need no root, use loopback only, and end the processes that they start.
//
// A test runs a proxy of its own between the clients and an origin (internal/peer) that
// counts how often each request was executed. Both clients send in the same run, over
// plain HTTP/1.1 and over TLS, straight to the proxy and through a relay that adds 5 ms
// each way. The proxies are told never to send a request twice themselves, so that what
// was executed twice was sent twice by a client. Each test logs one table (-v shows it).
//
// What holds for connwise, a retry.Transport over a pool.Transport:
//
//   - idle_test.go: POSTs paced at the proxy's idle timeout. Configured with that timeout,
//     none fails, and connections are reused where the gap is below the idle limit that
//     follows from it (at the timeout itself, not reusing them is what helps). Not told
//     any timeout, none fails on a connection that the proxy closed before. Where
//     connections are reused, a failure about which the machine itself stood still for a
//     while is logged only (stall_test.go).
//   - reload_test.go: the proxy reloads under load. No GET fails. A POST that crosses a
//     close can fail, since nobody can tell whether it was executed; its error says so
//     (pool.PhaseSending, PhaseSent or PhaseResponse), and none is executed twice.
//   - kill_test.go: the proxy is killed under load and started again. No POST is executed
//     twice, and none that is said to be unprocessed was executed.
//   - limit_test.go: the proxy closes each connection after 20 requests. None fails, and
//     there are no more dials than that takes.
//   - silence_test.go: Close under load leaves no connection and no goroutine, and the
//     counters add up. Every other test checks that too when it ends.
//
// net/http's failures are logged beside. Only through the relay are they sure to come, so
// only there has the idle race to show some: it proves that the race was run.
package realproxy
