//go:build proxies && unix

package realproxy

import (
	"cmp"
	"fmt"
	"os/user"
	"syscall"
)

// nginx closes a client's connection after the idle timeout, and after so many requests as
// the settings say. Towards the origin it has a connection for each request, and it never
// passes a request on a second time. On HTTP/2 it announces each close by a GOAWAY with
// the last stream that it took, and drops later ones without a word.
var nginx = kind{
	name: "nginx",
	programs: []program{{
		name:    "nginx",
		args:    func(s settings) []string { return []string{"-e", "stderr", "-p", s.dir, "-c", s.file("conf")} },
		running: "start worker processes\n",
	}},
	files:     func(s settings) map[string]string { return map[string]string{"conf": nginxConfig(s)} },
	reload:    syscall.SIGHUP,
	reloading: "signal 1 (SIGHUP) received",
	replaced:  "gracefully shutting down",
	limits:    true,
	unused:    []proto{overH1, overTLS, overH2},
	cutting:   "left in connection", // an old worker ends before an answer has left
}

func nginxConfig(s settings) string {
	return fmt.Sprintf(`daemon off;
worker_processes 2;
error_log stderr notice;
pid %[1]s/pid;
%[2]s
events { worker_connections 4096; }
http {
	access_log off;
	client_max_body_size 0;
	client_body_buffer_size 8m; # each body that goes to a file is a line in the log
	proxy_max_temp_file_size 0;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	keepalive_timeout %[3]dms;
	keepalive_requests %[4]d;
	client_header_timeout %[8]dms;
	server {
		listen %[5]s backlog=1024 %[6]s;
		location / {
			proxy_pass http://%[7]s;
			proxy_http_version 1.1;
			proxy_set_header Connection close;
			proxy_next_upstream off;
		}
	}
}
`, s.dir, nginxUser(), s.idle.Milliseconds(), cmp.Or(s.requests, 1000), s.addr, nginxTLS(s), s.origin,
		cmp.Or(s.unused, longIdle).Milliseconds())
}

// nginxTLS is the end of the listen line, and what follows it.
func nginxTLS(s settings) string {
	if s.certFile == "" {
		return ""
	}
	protocol := "ssl"
	if s.http2 {
		protocol = "ssl http2"
	}
	return fmt.Sprintf("%s;\n\t\tssl_certificate %s;\n\t\tssl_certificate_key %s", protocol, s.certFile, s.keyFile())
}

// nginxUser names a group too, as nginx else looks for one of the user's name.
func nginxUser() string {
	group := "root"
	if g, err := user.LookupGroupId("0"); err == nil {
		group = g.Name
	}
	return whenRoot(fmt.Sprintf("user %s %s;", ownUser(), group))
}
