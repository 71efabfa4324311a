//go:build unix

package frontproxy

import (
	"cmp"
	"fmt"
	"syscall"
	"time"
)

// Nginx closes a client's connection after the idle timeout, and after so many requests as
// the settings say. Towards the origin it has a connection for each request, and it never
// passes a request on a second time. On HTTP/2 it announces each close by a GOAWAY with
// the last stream that it took, and drops later ones without a word.
var Nginx = Kind{
	Name: "nginx",
	programs: []program{{
		name:    "nginx",
		args:    func(s setup) []string { return nginxArgs(s.dir, s.file("conf")) },
		running: nginxRuns,
	}},
	files:     func(s setup) map[string]string { return map[string]string{"conf": nginxProxy(s).config()} },
	reload:    syscall.SIGHUP,
	reloading: "signal 1 (SIGHUP) received",
	Replaced:  "gracefully shutting down",
	version:   []string{"-v"},
	Protos:    []Proto{H1, TLS, H2},
	Limits:    []Proto{H1, TLS, H2},
	Unused:    []Proto{H1, TLS, H2},
	Cutting:   "left in connection", // an old worker ends before an answer has left
}

func nginxProxy(s setup) NginxServer {
	n := NginxServer{Dir: s.dir, Addr: s.addr, HTTP2: s.Proto == H2}
	if s.Proto != H1 {
		n.Cert, n.Key = s.certFile, s.keyFile()
	}
	n.Context = fmt.Sprintf(`client_max_body_size 0;
	client_body_buffer_size 8m; # each body that goes to a file is a line in the log
	proxy_max_temp_file_size 0;
	keepalive_timeout %dms;
	keepalive_requests %d;
	client_header_timeout %dms;`, s.Idle.Milliseconds(), cmp.Or(s.Requests, 1000), cmp.Or(s.Unused, time.Minute).Milliseconds())
	n.Block = fmt.Sprintf(`location / {
			proxy_pass http://%s;
			proxy_http_version 1.1;
			proxy_set_header Connection close;
			proxy_next_upstream off;
		}`, s.Origin)
	return n
}
