//go:build proxies && unix

package realproxy

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"syscall"
)

// keepRequests is how many requests nginx takes on a connection. HAProxy has no limit.
const keepRequests = 20

// nginx closes a client's connection after the idle timeout, and after keepRequests
// requests. Towards the origin it has a connection for each request, and it never passes
// a request on a second time.
var nginx = kind{
	name:   "nginx",
	args:   func(dir string) []string { return []string{"-e", "stderr", "-p", dir, "-c", dir + "/conf"} },
	config: nginxConfig,
	reload: syscall.SIGHUP,

	reloading: "signal 1 (SIGHUP) received",
	running:   "start worker processes\n",
	replaced:  "gracefully shutting down",
}

func nginxConfig(s settings) string {
	ssl := ""
	if s.certFile != "" {
		ssl = "ssl"
	}
	return fmt.Sprintf(`daemon off;
worker_processes 2;
error_log stderr notice;
pid %[1]s/pid;
%[2]s
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	keepalive_timeout %[3]dms;
	keepalive_requests %[4]d;
	server {
		listen %[5]s %[6]s backlog=1024;
		%[7]s
		location / {
			proxy_pass http://%[8]s;
			proxy_http_version 1.1;
			proxy_set_header Connection close;
			proxy_next_upstream off;
		}
	}
}
`, s.dir, nginxUser(), s.idle.Milliseconds(), keepRequests, s.addr, ssl, nginxCert(s), s.origin)
}

func nginxCert(s settings) string {
	if s.certFile == "" {
		return ""
	}
	return fmt.Sprintf("ssl_certificate %s;\n\t\tssl_certificate_key %s;", s.certFile, filepath.Join(s.dir, "key.pem"))
}

// nginxUser keeps the workers of a master that is root from becoming "nobody", who can't
// read the test's directory. For others there is nothing to say: workers stay who they are.
func nginxUser() string {
	if os.Geteuid() != 0 {
		return ""
	}
	group := "root"
	if g, err := user.LookupGroupId("0"); err == nil {
		group = g.Name
	}
	return fmt.Sprintf("user root %s;", group)
}
