//go:build unix

package frontproxy

import "fmt"

// ATS is Apache Traffic Server. It counts idle time in ticks, up to 2 s for 1 s, and
// closes an idle HTTP/2 connection without a GOAWAY. It has no reload that ends
// connections. It has a connection to the origin for each request and never passes a
// request on a second time. The user "#-1" is whoever starts it.
var ATS = Kind{
	Name: "ats",
	programs: []program{{
		name:    "traffic_server",
		args:    func(s setup) []string { return []string{"--run-root=" + s.file("runroot.yaml")} },
		running: "traffic server running",
	}},
	files: func(s setup) map[string]string {
		return map[string]string{
			"runroot.yaml":             atsDirs(s),
			"etc/records.config":       atsRecords(s),
			"etc/remap.config":         "map / http://" + s.Origin + "/\n",
			"etc/ssl_multicert.config": "dest_ip=* ssl_cert_name=" + s.certFile + " ssl_key_name=" + s.keyFile() + "\n",
			"etc/ip_allow.yaml":        "ip_allow:\n  - {apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL}\n",
			"etc/storage.config":       "",
			"etc/plugin.config":        "",
			"run/.keep":                "", // it makes no directories
			"log/.keep":                "",
		}
	},
	version:    []string{"--version"},
	Seconds:    true,
	Protos:     []Proto{TLS, H2},
	Coarse:     true,
	SilentIdle: true,
}

// atsDirs says where things are. The programs' own directories aren't used.
func atsDirs(s setup) string {
	return fmt.Sprintf(`prefix: %[1]s
exec_prefix: %[1]s
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: %[1]s/etc
datadir: %[1]s
includedir: %[1]s
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
localstatedir: %[1]s
runtimedir: %[1]s/run
logdir: %[1]s/log
cachedir: %[1]s
`, s.dir)
}

func atsRecords(s setup) string {
	host, port := split(s.addr)
	return fmt.Sprintf(`CONFIG proxy.config.http.server_ports STRING %s:ssl:ip-in=%s
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.crash_log_helper STRING NULL
CONFIG proxy.config.http.cache.http INT 0
CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT %[3]d
CONFIG proxy.config.http2.no_activity_timeout_in INT %[3]d
CONFIG proxy.config.http.keep_alive_enabled_out INT 0
CONFIG proxy.config.http.connect_attempts_max_retries INT 0
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 2
CONFIG proxy.config.url_remap.remap_required INT 1
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.diags.output.note STRING E
CONFIG proxy.config.diags.output.error STRING E
`, port, host, seconds(s.Idle))
}
