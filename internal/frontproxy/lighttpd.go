//go:build unix

package frontproxy

import (
	"fmt"
	"syscall"
)

// Lighttpd takes 8 streams at a time, and counts idle time in whole seconds, up to 2.4 s for
// 1 s. A reload ends its connections and starts anew with the same listening socket. Busy
// HTTP/2 connections get a GOAWAY with the last stream; if a further one is under way by
// then, lighttpd resets streams that it has passed on with PROTOCOL_ERROR.
var Lighttpd = Kind{
	Name: "lighttpd",
	programs: []program{{
		name:    "lighttpd",
		args:    func(s setup) []string { return []string{"-D", "-f", s.file("conf")} },
		running: "server started",
	}},
	files:      func(s setup) map[string]string { return map[string]string{"conf": lighttpdConfig(s)} },
	reload:     syscall.SIGUSR1,
	reloading:  "graceful shutdown started",
	Replaced:   "server stopped by",
	version:    []string{"-v"},
	Seconds:    true,
	Protos:     []Proto{TLS, H2},
	Coarse:     true,
	CutsReload: true,
}

func lighttpdConfig(s setup) string {
	host, port := split(s.addr)
	originHost, originPort := split(s.Origin)
	return fmt.Sprintf(`server.modules = ("mod_openssl", "mod_proxy")
server.document-root = "%s"
server.bind = "%s"
server.port = %s
server.max-keep-alive-idle = %d
server.max-keep-alive-requests = 100000
server.errorlog = "/dev/stderr"
ssl.engine = "enable"
ssl.pemfile = "%s"
ssl.privkey = "%s"
server.feature-flags = ("server.graceful-shutdown-timeout" => 30)
proxy.server = ("" => (("host" => "%s", "port" => %s)))
`, s.dir, host, port, seconds(s.Idle), s.certFile, s.keyFile(), originHost, originPort)
}
