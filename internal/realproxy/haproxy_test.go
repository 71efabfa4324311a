//go:build proxies && unix

package realproxy

import (
	"fmt"
	"syscall"
)

// haproxy closes a client's connection after the idle timeout. Towards the origin it
// has a connection for each request, and it never passes a request on a second
// time. A reload hands the listening socket to the new worker, so that no connection is
// reset in its queue.
var haproxy = kind{
	name:   "haproxy",
	args:   func(dir string) []string { return []string{"-W", "-db", "-f", dir + "/conf"} },
	config: haproxyConfig,
	reload: syscall.SIGUSR2,

	reloading: "Reloading HAProxy",
	running:   "Loading success",
	replaced:  "Former worker",
}

func haproxyConfig(s settings) string {
	ssl := ""
	if s.certFile != "" {
		ssl = "ssl alpn http/1.1 crt " + s.certFile // HAProxy finds the key in the same file
	}
	return fmt.Sprintf(`global
	maxconn 4096
	nbthread 2
	hard-stop-after 5s
	stats socket unix@%s/sock mode 600 level admin expose-fd listeners
defaults
	mode http
	timeout connect 2s
	timeout client 20s
	timeout server 20s
	timeout http-request 20s
	timeout http-keep-alive %dms
	retries 0
	option http-server-close
frontend clients
	bind %s %s
	default_backend origin
backend origin
	server origin %s
`, s.dir, s.idle.Milliseconds(), s.addr, ssl, s.origin)
}
