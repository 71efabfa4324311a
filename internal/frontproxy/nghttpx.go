//go:build unix

package frontproxy

import (
	"fmt"
	"syscall"
)

// Nghttpx closes an idle HTTP/2 connection without a GOAWAY, also right after it has answered
// a PING: its timer goes by requests. At a reload it sends one
// that names no last stream, and the true one 2 s later; what comes in between it serves.
// It never passes a request on a second time.
var Nghttpx = Kind{
	Name: "nghttpx",
	programs: []program{{
		name:    "nghttpx",
		args:    func(s setup) []string { return []string{"--conf=" + s.file("conf")} },
		running: "Created worker thread #1",
	}},
	files:      func(s setup) map[string]string { return map[string]string{"conf": nghttpxConfig(s)} },
	reload:     syscall.SIGHUP,
	reloading:  "Reloading configuration",
	Replaced:   "Graceful shutdown commencing",
	version:    []string{"--version"},
	Protos:     []Proto{H1, TLS, H2},
	Limits:     []Proto{H1, TLS, H2},
	SilentIdle: true,
	DeafIdle:   true,
}

func nghttpxConfig(s setup) string {
	front, tls := comma(s.addr)+";no-tls", ""
	if s.Proto != H1 {
		front, tls = comma(s.addr), fmt.Sprintf("private-key-file=%s\ncertificate-file=%s", s.keyFile(), s.certFile)
	}
	return fmt.Sprintf(`frontend=%s
backend=%s
%s
no-ocsp=yes
workers=2
frontend-http2-read-timeout=%[4]dms
frontend-keep-alive-timeout=%[4]dms
%s
backend-keep-alive-timeout=1ms
log-level=NOTICE
errorlog-file=/dev/stderr
`, front, comma(s.Origin), tls, s.Idle.Milliseconds(), nghttpxLimit(s))
}

// nghttpxLimit is a line, as none means no limit, and zero a connection for each request.
func nghttpxLimit(s setup) string {
	if s.Requests == 0 {
		return ""
	}
	return fmt.Sprintf("frontend-max-requests=%d", s.Requests)
}

// comma is an address as nghttpx writes it.
func comma(addr string) string {
	host, port := split(addr)
	return host + "," + port
}
