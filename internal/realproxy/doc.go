// Package realproxy tests connwise behind real proxies, side by side with net/http: nginx,
// HAProxy and Caddy over HTTP/1.1 and HTTP/2, Apache and Node over HTTP/1.1, and over HTTP/2
// also nghttpx, h2o, lighttpd, Varnish behind hitch, and Apache Traffic Server. It has no code
// but its tests, which need the build tag "proxies":
//
//	make test-proxies
//	go test -tags proxies ./internal/realproxy/ -run IdleRace -v
//	make test-bulk
//	make test-idle
//	make test-capacity
//
// The proxies have to be installed, in PATH or in an sbin directory; .ci/run names their
// Debian packages. Where one is missing, its tests are skipped, and with CI=true in the
// environment they fail. The tests need no root, use loopback only, and end the processes
// that they start. internal/frontproxy starts and configures them.
//
// A test runs a proxy of its own between the clients and an origin (internal/peer) that
// counts how often each request was executed. Both clients send in the same run, over
// plain HTTP/1.1, over TLS, and over HTTP/2 with TLS, straight to the proxy and through a
// relay that adds 5 ms each way. The proxies are told never to send a request twice
// themselves, so that what was executed twice was sent twice by a client. Each test logs one
// table (-v shows it).
//
// What holds for connwise, a retry.Transport over a pool.Transport:
//
//   - idle_test.go: POSTs paced at the proxy's idle timeout. Configured with that timeout,
//     none fails, and connections idle for up to 0.84 of it are used again (at the timeout
//     itself, not reusing them is what helps). Not told any timeout, none fails on a connection
//     that the proxy closed before, and over HTTP/2 none on one that it closes with a GOAWAY.
//     Failures about which the machine itself stood still for a while are logged only
//     (stall_test.go).
//   - learn_test.go: the same, not told, with a transport for each lane and with one for all of
//     them. Once there was time to learn the timeout, 0.2 % fail at most, also over HTTP/2
//     behind nghttpx, Varnish and Traffic Server, which send no GOAWAY. learnvalue_test.go holds
//     what is learnt against the proxy's configuration.
//   - confirm_test.go: with a sign of life before each POST none fails, before anything is
//     learnt. Only nghttpx over HTTP/2 answers a PING and closes all the same.
//   - guard_test.go: net/http with a pool.Guard loses a tenth at most of what it loses without,
//     and nothing with the retry layer on top.
//   - reload_test.go: the proxy reloads under load. No GET fails. A POST that crosses a
//     close can fail over HTTP/1.1, since nobody can tell whether it was executed; its error
//     says so (pool.PhaseSending, PhaseSent or PhaseResponse), and none is executed twice. With
//     a sign of life before each POST none fails. Over HTTP/2 none fails, but with hitch and
//     lighttpd, which cut requests that run.
//   - bulk_test.go: all methods, bodies of 0 B to 8 MiB both ways, 64 requests at a time over
//     HTTP/2, with net/http's server too, calm and with reloads. Each byte arrives.
//   - kill_test.go: the proxy is killed under load and started again. No POST is executed
//     twice, and none that is said to be unprocessed was executed.
//   - limit_test.go: the proxy closes each connection after 20 requests. None fails, and
//     there are no more dials than that takes.
//   - unused_test.go: the proxy closes connections that carry nothing after 1 s, some with a 408,
//     and MinIdlePerHost keeps 20. No 408 is an answer, no POST fails, and once the time has been
//     learnt none waits for a dial, for about a dozen dials in a second.
//   - maxrequests_test.go: the proxy closes each connection after 50 requests. With
//     MaxRequestsPerConn below that no request waits for a dial.
//   - renewreload_test.go: MinIdlePerHost and MaxConnAge make nothing worse when the proxy reloads.
//   - connlimit_linux_test.go: the proxy never has more connections than MaxConnsPerHost, and 64
//     workers wait for them in turn.
//   - coldburst_test.go: 500 requests at once open half as many connections as net/http at most.
//   - probe_test.go: internal/probe finds the idle timeouts and limits that were configured.
//   - silence_test.go: Close under load leaves no connection and no goroutine, and the
//     counters add up. Every other test checks that too when it ends.
//
// net/http's failures are logged beside. Only through the relay are they sure to come, and
// over HTTP/2 only without a GOAWAY, so only there has the idle race to show some: it proves
// that the race was run.
package realproxy
