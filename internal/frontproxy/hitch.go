//go:build unix

package frontproxy

import (
	"fmt"
	"syscall"
)

// Hitch ends TLS in front of Varnish, which speaks HTTP/2 and closes idle connections
// without a GOAWAY. A reload of hitch, which knows nothing of HTTP, cuts connections with
// requests on them. Varnish has a connection to the origin for each request.
var Hitch = Kind{
	Name: "varnish+hitch",
	programs: []program{{
		name:    "varnishd",
		args:    varnishArgs,
		running: "said Child starts",
	}, {
		name:    "hitch",
		args:    func(s setup) []string { return []string{"--config=" + s.file("hitch")} },
		running: "Process 1 online",
	}},
	files: func(s setup) map[string]string {
		return map[string]string{"vcl": varnishConfig(s), "hitch": hitchConfig(s)}
	},
	reload:     syscall.SIGHUP,
	reloading:  "Initiating configuration reload",
	Replaced:   "is now exiting",
	version:    []string{"--version"},
	Protos:     []Proto{TLS, H2},
	SilentIdle: true,
	CutsReload: true,
}

func varnishArgs(s setup) []string {
	return []string{"-F", "-j", "none", "-n", s.file("varnish"), "-T", "none", "-f", s.file("vcl"),
		"-a", s.inner + ",PROXY", "-s", "default,8m", "-p", "feature=+http2",
		"-p", "thread_pools=1", "-p", "thread_pool_min=50", "-p", fmt.Sprintf("timeout_idle=%v", s.Idle.Seconds())}
}

func varnishConfig(s setup) string {
	host, port := split(s.Origin)
	return fmt.Sprintf(`vcl 4.1;
backend origin {
	.host = "%s";
	.port = "%s";
}
sub vcl_recv { return (pass); }
sub vcl_backend_fetch { set bereq.http.Connection = "close"; }
`, host, port)
}

// hitchConfig has another user than root, as hitch insists on that.
func hitchConfig(s setup) string {
	host, port := split(s.addr)
	innerHost, innerPort := split(s.inner)
	return fmt.Sprintf(`frontend = "[%s]:%s"
backend = "[%s]:%s"
pem-file = "%s"
alpn-protos = "h2, http/1.1"
write-proxy-v2 = on
workers = 2
backlog = 1024
log-level = 1
%s
`, host, port, innerHost, innerPort, s.certFile, whenRoot(`user = "nobody"`))
}
