//go:build proxies && unix

package realproxy

import (
	"fmt"
	"syscall"
)

// lighttpd takes 8 streams at a time, and counts idle time in whole seconds, up to 2.4 s for
// 1 s. A reload ends its connections and starts anew with the same listening socket. Busy
// HTTP/2 connections get a GOAWAY with the last stream; if a further one is under way by
// then, lighttpd resets streams that it has passed on with PROTOCOL_ERROR.
var lighttpd = kind{
	name: "lighttpd",
	programs: []program{{
		name:    "lighttpd",
		args:    func(s settings) []string { return []string{"-D", "-f", s.file("conf")} },
		running: "server started",
	}},
	files:      func(s settings) map[string]string { return map[string]string{"conf": lighttpdConfig(s)} },
	reload:     syscall.SIGUSR1,
	reloading:  "graceful shutdown started",
	replaced:   "server stopped by",
	coarse:     true,
	cutsReload: true,
}

func lighttpdConfig(s settings) string {
	host, port := split(s.addr)
	originHost, originPort := split(s.origin)
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
`, s.dir, host, port, seconds(s.idle), s.certFile, s.keyFile(), originHost, originPort)
}
