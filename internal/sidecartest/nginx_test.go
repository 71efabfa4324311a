//go:build sidecar && linux

package sidecartest

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	workersStarted = regexp.MustCompile(`(start worker processes)\n`)
	reloadedOnce   = regexp.MustCompile(`signal 1 \(SIGHUP\) received`)
)

// startNginx starts one that listens on a port of its own with the files' certificate, if secure,
// and answers as the lines in its server block say.
func startNginx(t *testing.T, f files, name string, secure bool, http, server string) (*process, string) {
	t.Helper()
	addr := freePort(t)
	dir := f.dir + "/" + name
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	listen := "listen " + addr + " backlog=1024;"
	if secure {
		listen = fmt.Sprintf("listen %s ssl backlog=1024; ssl_certificate %s; ssl_certificate_key %s;", addr, f.cert, f.key)
	}
	conf := fmt.Sprintf(`daemon off;
worker_processes 2;
error_log stderr notice;
pid %[1]s/pid;
%[2]s
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	%[3]s
	server {
		%[4]s
		%[5]s
	}
}
`, dir, nginxUser(), http, listen, server)
	p, _ := start(t, workersStarted, look(t, nil, "nginx", "/usr/sbin/nginx"), "-e", "stderr", "-p", dir,
		"-c", f.write(t, name+".conf", []byte(conf)))
	return p, addr
}

// nginxUser keeps the workers from another user's rights, which can't read the certificate.
func nginxUser() string {
	if os.Geteuid() != 0 {
		return ""
	}
	group := "root"
	if g, err := user.LookupGroupId("0"); err == nil {
		group = g.Name
	}
	return "user root " + group + ";"
}

// startOrigin starts an nginx that answers each request with 1 KiB, over TLS.
func startOrigin(t *testing.T, f files) (p *process, addr string) {
	t.Helper()
	body := strings.Repeat("connwise", 128)
	return startNginx(t, f, "origin", true, "", `location / { return 200 "`+body+`"; }`)
}

// startRival starts an nginx that does what a sidecar does: it keeps connections to the origin,
// over TLS with verification, and says for whom it sends.
func startRival(t *testing.T, f files, origin string) (p *process, addr string) {
	t.Helper()
	return startNginx(t, f, "rival", false, "upstream origin { server "+origin+"; keepalive 64; }\n\tkeepalive_requests 1000000000;",
		`location / {
			proxy_pass https://origin;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host `+origin+`;
			proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
			proxy_set_header X-Forwarded-Host $host;
			proxy_set_header X-Forwarded-Proto $scheme;
			proxy_ssl_verify on;
			proxy_ssl_name localhost;
			proxy_ssl_trusted_certificate `+f.ca+`;
		}`)
}

// reloadEverySecond has an nginx read its configuration again, every second until stop, and
// returns how often it did.
func reloadEverySecond(p *process, stop <-chan struct{}) (n int, err error) {
	for pause(time.Second, stop) {
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			return n, err
		}
		n++
		if _, err := p.await(reloadedOnce, n); err != nil {
			return n, err
		}
	}
	return n, nil
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
