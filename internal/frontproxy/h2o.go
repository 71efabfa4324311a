//go:build unix

package frontproxy

import (
	"fmt"
	"syscall"
)

// H2O announces an idle HTTP/2 connection's close by a GOAWAY. A reload starts a new
// worker; the old one, about a second later, sends a GOAWAY that names no last stream,
// and after another second the true one. It has a connection to the origin for each request.
var H2O = Kind{
	Name: "h2o",
	programs: []program{{
		name:    "h2o",
		args:    func(s setup) []string { return []string{"-m", "master", "-c", s.file("conf")} },
		running: "is ready to serve requests",
	}},
	files:     func(s setup) map[string]string { return map[string]string{"conf": h2oConfig(s)} },
	reload:    syscall.SIGHUP,
	reloading: "received HUP",
	version:   []string{"--version"},
	Seconds:   true,
	Protos:    []Proto{TLS, H2},
	Replaced:  "killing old workers",
}

func h2oConfig(s setup) string {
	_, port := split(s.addr)
	return fmt.Sprintf(`listen:
  host: 127.0.0.1
  port: %s
  ssl: {certificate-file: %s, key-file: %s}
ssl-session-resumption: {mode: "off"}
%s
num-threads: 2
num-ocsp-updaters: 1
http1-request-timeout: %[5]d
http2-idle-timeout: %[5]d
pid-file: %s
error-log: /dev/stderr
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://%s/
        proxy.timeout.keepalive: 0
`, port, s.certFile, s.keyFile(), whenRoot("user: "+ownUser()), seconds(s.Idle), s.file("pid"), s.Origin)
}
