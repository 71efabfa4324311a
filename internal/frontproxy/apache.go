//go:build unix

package frontproxy

import (
	"fmt"
	"strings"
	"syscall"
)

// apacheModules is where Debian keeps them.
const apacheModules = "/usr/lib/apache2/modules/"

// Apache closes a client's connection after the idle timeout, and after one request more
// than MaxKeepAliveRequests says. It then lingers: late bytes are acknowledged and thrown
// away. It has a connection to the origin for each request. At a reload old processes
// finish their requests, and new ones start up to a second later; the listening socket waits.
var Apache = Kind{
	Name: "apache",
	programs: []program{{
		name:    "apache2",
		args:    func(s setup) []string { return []string{"-D", "FOREGROUND", "-f", s.file("conf")} },
		running: "resuming normal operations",
	}},
	files:     func(s setup) map[string]string { return map[string]string{"conf": apacheConfig(s)} },
	reload:    syscall.SIGUSR1,
	reloading: "Doing graceful restart",
	Replaced:  "graceful termination, workers joined",
	version:   []string{"-v"},
	Protos:    []Proto{H1, TLS, H2},
	Limits:    []Proto{H1, TLS},
	Unused:    []Proto{H1, TLS},
	Tells:     true,
}

func apacheConfig(s setup) string {
	return fmt.Sprintf(`ServerRoot %[1]s
DefaultRuntimeDir %[1]s
PidFile %[1]s/pid
ServerName 127.0.0.1
%[2]s
%[3]s
ErrorLog /dev/stderr
LogLevel notice mpm_event:trace1
StartServers 2
ServerLimit 24
ThreadsPerChild 32
MinSpareThreads 64
MaxSpareThreads 256
MaxRequestWorkers 256
ListenBacklog 1024
Listen %[4]s
KeepAliveTimeout %[5]dms
MaxKeepAliveRequests %[6]d
ProxyPass / http://%[7]s/ disablereuse=On retry=0
%[8]s
%[9]s
`, s.dir, apacheUser(), apacheLoad(s), s.addr, s.Idle.Milliseconds(), apacheLimit(s), s.Origin, apacheTLS(s), apacheUnused(s))
}

// apacheUser has another user than root, as Apache insists on that. It opens its files
// before.
func apacheUser() string { return whenRoot("User #65534\nGroup #65534") }

func apacheLoad(s setup) string {
	modules := []string{"mpm_event", "authz_core", "proxy", "proxy_http"}
	if s.Proto != H1 {
		modules = append(modules, "ssl")
	}
	if s.Proto == H2 {
		modules = append(modules, "http2")
	}
	if s.Unused > 0 {
		modules = append(modules, "reqtimeout")
	}
	var b strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&b, "LoadModule %[1]s_module %[2]smod_%[1]s.so\n", m, apacheModules)
	}
	return b.String()
}

// apacheLimit is what MaxKeepAliveRequests has to be for so many requests; zero is no limit.
func apacheLimit(s setup) int { return max(0, s.Requests-1) }

func apacheTLS(s setup) string {
	if s.Proto == H1 {
		return ""
	}
	lines := fmt.Sprintf("SSLEngine on\nSSLCertificateFile %s\nSSLCertificateKeyFile %s", s.certFile, s.keyFile())
	if s.Proto == H2 {
		lines += "\nProtocols h2 http/1.1"
	}
	return lines
}

// apacheUnused also accepts connections on which nothing came yet, which the kernel else
// keeps back.
func apacheUnused(s setup) string {
	if s.Unused == 0 {
		return ""
	}
	return fmt.Sprintf("AcceptFilter http none\nRequestReadTimeout header=%d", seconds(s.Unused))
}
