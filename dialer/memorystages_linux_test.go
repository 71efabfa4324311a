package dialer

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"testing"
	"time"
)

// twins are two peers on one port: at 127.0.0.2 and 127.0.0.3.
func twins(t *testing.T, a, b func(net.Conn)) *farm {
	t.Helper()
	f := newFarm(t, 4) // finds a port
	for host, script := range map[int]func(net.Conn){2: a, 3: b} {
		l, err := net.Listen("tcp", f.addr(host))
		if err != nil {
			t.Fatal(err)
		}
		newPeerOn(t, l, script)
	}
	return f
}

func hangUp(c net.Conn) { c.Close() }

// An address on which TLS fails is tried last too, though it connects.
func TestMemoryOfTLS(t *testing.T) {
	origin := func(c net.Conn) { withTLS(serverTLS(t), echo)(c) }
	hang := func(c net.Conn) { io.Copy(io.Discard, c); c.Close() }
	for name, bad := range map[string]func(net.Conn){"hangs up": hangUp, "hangs": hang, "speaks no TLS": func(c net.Conn) {
		io.WriteString(c, "220 hello\r\n")
		hang(c)
	}} {
		t.Run(name, func(t *testing.T) {
			f := twins(t, bad, origin)
			var count attempts
			d := Dialer{
				Memory: &Memory{}, Control: count.control, TLSTimeout: 100 * time.Millisecond,
				Resolver: names{"origin.test": {"127.0.0.2", "127.0.0.3"}},
			}
			route := Route{Addr: "origin.test:" + f.port, TLS: clientTLS(t)}
			_, err := d.Dial(t.Context(), route)
			wantError(t, err, StageTLS)
			d.TLSTimeout = 0
			for range 3 {
				l, err := d.Dial(t.Context(), route)
				if err != nil {
					t.Fatal(err)
				}
				if l.Addrs != 2 {
					t.Errorf("there were %d addresses", l.Addrs)
				}
				l.Conn.Close()
			}
			if a, b := count.at(f.addr(2)), count.at(f.addr(3)); a != 1 || b != 3 {
				t.Errorf("the addresses were tried %d and %d times", a, b)
			}
		})
	}
}

// A caller who leaves early says nothing of the address.
func TestMemoryOfAHurry(t *testing.T) {
	p := newPeer(t, func(c net.Conn) { io.Copy(io.Discard, c); c.Close() })
	m := &Memory{}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := (&Dialer{Memory: m}).Dial(ctx, Route{Addr: p.addr, TLS: &tls.Config{ServerName: "origin.test"}})
	wantError(t, err, StageTLS)
	if !m.empty() {
		t.Error("it is held against the address")
	}
}

// A proxy that hangs up has failed; one that answers has not, whatever it answers, nor has
// one behind which TLS fails.
func TestMemoryOfProxies(t *testing.T) {
	refuse := func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		c.Close()
	}
	notHTTP := func(c net.Conn) { io.WriteString(c, "what?\r\n\r\n"); c.Close() }
	through := func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); c.Close() }
	for _, tt := range []struct {
		name   string
		script func(net.Conn)
		tls    bool
		failed bool
	}{
		{"hangs up", hangUp, false, true},
		{"no HTTP", notHTTP, false, true},
		{"refuses", refuse, false, false},
		{"lets through", through, false, false},
		{"lets through to no TLS", through, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, tt.script)
			m := &Memory{}
			if !tt.failed && tt.name != "refuses" {
				m.failed(p.addr, troubleOpen) // that it lets through makes good for that
			}
			r := Route{Addr: "origin.test:443", Proxy: &url.URL{Scheme: "http", Host: p.addr}}
			if tt.tls {
				r.TLS = &tls.Config{}
			}
			l, err := (&Dialer{Memory: m}).Dial(t.Context(), r)
			if err == nil {
				l.Conn.Close()
			}
			if got := !m.empty(); got != tt.failed {
				t.Errorf("the proxy has failed: %t, want %t (%v)", got, tt.failed, err)
			}
		})
	}
}
