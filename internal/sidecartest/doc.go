// Package sidecartest holds "connwise proxy", the real program, against clients and a server
// that aren't ours. It has no code but its tests, which need the build tag "sidecar":
//
//	make test-sidecar
//	make test-sidecar-long
//	go test -tags sidecar ./internal/sidecartest/ -run Clients -v
//
// The programs have to be installed; .ci/run names their Debian packages. Where one is missing,
// its tests are skipped, and with CI=true in the environment they fail. The tests need no root,
// use loopback only, and end the processes that they start.
//
//   - clients_test.go: Ruby's Faraday over net-http-persistent, Python's urllib3 with and without
//     its retries, and curl send GETs and POSTs, at once to a front-end and through a sidecar to
//     the same one. The front-end speaks TLS, closes idle connections without a close_notify, and
//     restarts every second with requests in mid-flight. Straight to it each client loses
//     some, and curl, which sends a POST again by itself, has one executed twice now and
//     then. Through the sidecar each request is answered, no GET fails, no POST is executed
//     twice, and what is said to be unprocessed was never executed. A POST that was in flight
//     at a restart is answered with a 502, as nobody can tell whether it was executed.
//   - load_test.go: wrk sends as fast as it can through the sidecar, and in turn through nginx and
//     straight, to an nginx that reloads every second. The sidecar loses none, and its memory
//     doesn't grow. With one connection also through Go's ReverseProxy over http.Transport: what
//     a sidecar adds without connwise.
//
// Each test logs a table (-v shows it). CONNWISE_SIDECAR_TIME is how long the clients send
// (8s), CONNWISE_SIDECAR_LOAD how long wrk does through the sidecar (6s).
package sidecartest
