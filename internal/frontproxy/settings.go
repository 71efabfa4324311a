//go:build unix

package frontproxy

import (
	"net"
	"path/filepath"
	"time"
)

// A Proto is what clients speak with a proxy.
type Proto string

const (
	H1  Proto = "h1"
	TLS Proto = "tls" // HTTP/1.1 with TLS
	H2  Proto = "h2"  // with TLS, chosen by ALPN
)

// Major is the HTTP version's first number.
func (p Proto) Major() int {
	if p == H2 {
		return 2
	}
	return 1
}

// Settings are what a proxy is told.
type Settings struct {
	Origin   string        // where requests go: "host:port", plain HTTP/1.1
	Proto    Proto         // what clients speak; empty: H1
	Idle     time.Duration // how long a client's connection may idle; some kinds take whole seconds only
	Unused   time.Duration // how long one may that carried nothing, where Kind.Unused has the Proto; zero: the kind's default
	Requests int           // how many requests a connection takes, where Kind.Limits has the Proto; zero: the kind's default, 1000 or no limit
}

// A setup is what a configuration is made of.
type setup struct {
	Settings
	dir      string // the proxy's own; the path is short, as HAProxy's socket is in it
	addr     string // to listen on
	inner    string // to listen on, for a kind with a program behind the clients' one
	certFile string // certificate and key; empty: no TLS
}

// keyFile is the key alone, for proxies that want it so.
func (s setup) keyFile() string { return s.file("key.pem") }

func (s setup) file(name string) string { return filepath.Join(s.dir, name) }

// split is net.SplitHostPort of an address that is known to be well-formed.
func split(addr string) (host, port string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err)
	}
	return host, port
}

// seconds is d for a configuration that takes whole seconds.
func seconds(d time.Duration) int { return int(d / time.Second) }

// FreePort is an address of 127.0.0.1 on which nobody listens at the moment. Somebody else may
// take it at any time.
func FreePort() (addr string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
