//go:build unix

package frontproxy

import (
	"cmp"
	"fmt"
	"syscall"
	"time"
)

// HAProxy closes a client's connection after the idle timeout. Towards the origin it
// has a connection for each request, and it never passes a request on a second
// time. With a 408 it ends a connection on which no request came in time. A reload hands the
// listening socket to the new worker, so that no connection is reset in its queue. On HTTP/2 it sends GOAWAY at an idle close, and at a reload one
// that names no last stream: it serves what comes, and leaves the close to the client.
var HAProxy = Kind{
	Name: "haproxy",
	programs: []program{{
		name:    "haproxy",
		args:    func(s setup) []string { return []string{"-W", "-db", "-f", s.file("conf")} },
		running: "Loading success",
	}},
	files:     func(s setup) map[string]string { return map[string]string{"conf": haproxyConfig(s)} },
	reload:    syscall.SIGUSR2,
	reloading: "Reloading HAProxy",
	Replaced:  "Former worker",
	version:   []string{"-v"},
	Protos:    []Proto{H1, TLS, H2},
	Unused:    []Proto{H1, TLS, H2},
	Says408:   true,
}

func haproxyConfig(s setup) string {
	return fmt.Sprintf(`global
	maxconn 4096
	nbthread 2
	hard-stop-after 30s
	stats socket unix@%s/sock mode 600 level admin expose-fd listeners
defaults
	mode http
	timeout connect 2s
	timeout client 20s
	timeout server 20s
	timeout http-request %dms
	timeout http-keep-alive %dms
	retries 0
	option http-server-close
frontend clients
	bind %s %s
	default_backend origin
backend origin
	server origin %s
`, s.dir, cmp.Or(s.Unused, 20*time.Second).Milliseconds(), s.Idle.Milliseconds(), s.addr, haproxyTLS(s), s.Origin)
}

// haproxyTLS is the end of the bind line. HAProxy finds the key in the certificate's file.
func haproxyTLS(s setup) string {
	switch {
	case s.Proto == H1:
		return ""
	case s.Proto == H2:
		return "ssl alpn h2,http/1.1 crt " + s.certFile
	default:
		return "ssl alpn http/1.1 crt " + s.certFile
	}
}
