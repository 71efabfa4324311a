//go:build unix

package frontproxy

import "fmt"

// Caddy announces each close of an HTTP/2 connection by a GOAWAY with the last stream
// that it took, and drops later ones without a word. It has a connection to the origin
// for each request.
var Caddy = Kind{
	Name: "caddy",
	programs: []program{{
		name:    "caddy",
		args:    func(s setup) []string { return []string{"run", "--config", s.file("conf.json")} },
		running: "serving initial configuration",
	}},
	files: func(s setup) map[string]string { return map[string]string{"conf.json": caddyConfig(s)} },
	reloadArgs: func(s setup) []string {
		return []string{"reload", "--force", "--config", s.file("conf.json"), "--address", "unix/" + s.file("admin")}
	},
	Replaced: "stopped previous server",
	version:  []string{"version"},
	Protos:   []Proto{H1, TLS, H2},
	Unused:   []Proto{H1, TLS},
}

func caddyConfig(s setup) string {
	return fmt.Sprintf(`{
	"admin": {"listen": "unix/%[1]s", "config": {"persist": false}},
	"storage": {"module": "file_system", "root": "%[2]s"},
	"apps": {
		%[3]s
		"http": {"servers": {"clients": {
			"listen": ["%[4]s"],
			"protocols": ["h1", "h2"],
			"idle_timeout": "%[5]v",
			"read_header_timeout": "%[8]v",
			"automatic_https": {"disable": true},
			%[6]s
			"routes": [{"handle": [{
				"handler": "reverse_proxy",
				"upstreams": [{"dial": "%[7]s"}],
				"transport": {"protocol": "http", "keep_alive": {"enabled": false}}
			}]}]
		}}}
	}
}
`, s.file("admin"), s.dir, caddyTLS(s), s.addr, s.Idle, caddyPolicies(s), s.Origin, s.Unused)
}

func caddyTLS(s setup) string {
	if s.Proto == H1 {
		return ""
	}
	return fmt.Sprintf(`"tls": {
			"certificates": {"load_files": [{"certificate": "%s", "key": "%s"}]},
			"disable_ocsp_stapling": true
		},`, s.certFile, s.keyFile())
}

// caddyPolicies make the server one with TLS.
func caddyPolicies(s setup) string {
	if s.Proto == H1 {
		return ""
	}
	return `"tls_connection_policies": [{}],`
}
