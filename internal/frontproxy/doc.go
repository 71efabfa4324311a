// Package frontproxy starts real proxies in front of an origin: nginx, HAProxy, Caddy, Apache,
// nghttpx, h2o, lighttpd, Varnish behind hitch, Traffic Server, and a proxy of Node's modules.
// Tests (internal/realproxy, internal/sidecartest) and the bench (internal/benchproxy) use it.
// There is nothing in it about tests: what goes wrong is an error.
//
// A Kind is how a proxy is configured, started and reloaded, and what is known of its ways.
// Start runs one as Settings say, in a directory of its own that is gone after Close, and with a
// certificate that was made for it:
//
//	p, err := frontproxy.Start(frontproxy.Nginx, frontproxy.Settings{Origin: addr, Proto: frontproxy.H2, Idle: time.Second})
//	...
//	defer p.Close()
//
// All of them have a connection to the origin for each request, and are told never to send one
// twice themselves, so that what was executed twice was sent twice by a client. The programs have
// to be installed, in PATH or in an sbin directory. They listen on 127.0.0.1, need no root, and
// end with the process that started them (on Linux even when that is killed).
//
// A Relay makes the way to a proxy longer. A Process is any server that runs in the foreground.
//
// Proxies run on Unix only; elsewhere the package has its Relay alone.
package frontproxy
