//go:build unix

package frontproxy

import (
	"fmt"
	"os/user"
	"path/filepath"
)

// An NginxServer is an nginx with one server block.
type NginxServer struct {
	Dir     string // its own, for its files
	Addr    string // to listen on
	Cert    string // path of the certificate; empty: no TLS
	Key     string // path of its key
	HTTP2   bool   // with TLS: offer h2 besides http/1.1
	Context string // lines of the http block
	Block   string // lines of the server block
}

// nginxRuns is what it says when a configuration has come into force.
const nginxRuns = "start worker processes\n"

// Start writes the configuration, starts nginx, and waits until it has begun to listen. The error
// is a *NotInstalledError where there is none.
func (n NginxServer) Start() (*Process, error) {
	path, ok := Look("nginx")
	if !ok {
		return nil, &NotInstalledError{Kind: Nginx.Name, Program: "nginx"}
	}
	conf := filepath.Join(n.Dir, "conf")
	if err := writeFile(conf, []byte(n.config())); err != nil {
		return nil, err
	}
	p, err := StartProcess(path, nginxArgs(n.Dir, conf)...)
	if err != nil {
		return nil, err
	}
	if err := p.Await(nginxRuns, 1, StartTime); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func nginxArgs(dir, conf string) []string { return []string{"-e", "stderr", "-p", dir, "-c", conf} }

func (n NginxServer) config() string {
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
	%[3]s
	server {
		listen %[4]s backlog=1024 %[5]s;
		%[6]s
	}
}
`, n.Dir, nginxUser(), n.Context, n.Addr, n.tls(), n.Block)
}

// tls is the end of the listen line, and what follows it.
func (n NginxServer) tls() string {
	if n.Cert == "" {
		return ""
	}
	protocol := "ssl"
	if n.HTTP2 {
		protocol = "ssl http2"
	}
	return fmt.Sprintf("%s;\n\t\tssl_certificate %s;\n\t\tssl_certificate_key %s", protocol, n.Cert, n.Key)
}

// nginxUser keeps the workers from another user's rights, which can't read the certificate. It
// names a group too, as nginx else looks for one of the user's name.
func nginxUser() string {
	group := "root"
	if g, err := user.LookupGroupId("0"); err == nil {
		group = g.Name
	}
	return whenRoot(fmt.Sprintf("user %s %s;", ownUser(), group))
}
