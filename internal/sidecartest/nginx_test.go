//go:build sidecar && linux

package sidecartest

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
)

// startNginx starts one that listens on a port of its own with the files' certificate, if secure,
// and answers as the lines in its blocks say.
func startNginx(t *testing.T, f files, name string, secure bool, http, server string) (*frontproxy.Process, string) {
	t.Helper()
	look(t, nil, "nginx", "/usr/sbin/nginx")
	addr, err := frontproxy.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	n := frontproxy.NginxServer{Dir: filepath.Join(f.dir, name), Addr: addr, Context: http, Block: server}
	if secure {
		n.Cert, n.Key = f.cert, f.key
	}
	p, err := n.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p) })
	return p, addr
}

// startOrigin starts an nginx that answers each request with 1 KiB, over TLS.
func startOrigin(t *testing.T, f files) (p *frontproxy.Process, addr string) {
	t.Helper()
	body := strings.Repeat("connwise", 128)
	return startNginx(t, f, "origin", true, "", `location / { return 200 "`+body+`"; }`)
}

// startRival starts an nginx that does what a sidecar does: it keeps connections to the origin,
// over TLS with verification, and says for whom it sends.
func startRival(t *testing.T, f files, origin string) (p *frontproxy.Process, addr string) {
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
func reloadEverySecond(p *frontproxy.Process, stop <-chan struct{}) (n int, err error) {
	for pause(time.Second, stop) {
		if err := p.Signal(syscall.SIGHUP); err != nil {
			return n, err
		}
		n++
		if err := p.Await("signal 1 (SIGHUP) received", n, frontproxy.StartTime); err != nil {
			return n, err
		}
	}
	return n, nil
}
