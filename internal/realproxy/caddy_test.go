//go:build proxies && unix

package realproxy

import "fmt"

// caddy announces each close of an HTTP/2 connection by a GOAWAY with the last stream
// that it took, and drops later ones without a word. It has a connection to the origin
// for each request.
var caddy = kind{
	name: "caddy",
	programs: []program{{
		name:    "caddy",
		args:    func(s settings) []string { return []string{"run", "--config", s.file("conf.json")} },
		running: "serving initial configuration",
	}},
	files: func(s settings) map[string]string { return map[string]string{"conf.json": caddyConfig(s)} },
	reloadArgs: func(s settings) []string {
		return []string{"reload", "--force", "--config", s.file("conf.json"), "--address", "unix/" + s.file("admin")}
	},
	replaced: "stopped previous server",
	unused:   []proto{overH1, overTLS},
}

func caddyConfig(s settings) string {
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
`, s.file("admin"), s.dir, caddyTLS(s), s.addr, s.idle, caddyPolicies(s), s.origin, s.unused)
}

func caddyTLS(s settings) string {
	if s.certFile == "" {
		return ""
	}
	return fmt.Sprintf(`"tls": {
			"certificates": {"load_files": [{"certificate": "%s", "key": "%s"}]},
			"disable_ocsp_stapling": true
		},`, s.certFile, s.keyFile())
}

// caddyPolicies make the server one with TLS.
func caddyPolicies(s settings) string {
	if s.certFile == "" {
		return ""
	}
	return `"tls_connection_policies": [{}],`
}
