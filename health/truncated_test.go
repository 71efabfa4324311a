//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
)

// A hiddenConn is no connection that a TLSClient can read without blocking.
type hiddenConn struct{ net.Conn }

func TestAFINWithoutACloseNotifyIsAnEOFThatCountsAsTruncated(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wrap   func(net.Conn) net.Conn
		notify bool
	}{
		{"socket, close_notify", func(c net.Conn) net.Conn { return c }, true},
		{"socket, bare FIN", func(c net.Conn) net.Conn { return c }, false},
		{"wrapper, close_notify", func(c net.Conn) net.Conn { return hiddenConn{c} }, true},
		{"wrapper, bare FIN", func(c net.Conn) net.Conn { return hiddenConn{c} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, far := pair(t)
			go func() {
				s := tls.Server(far, serverConfig(t))
				s.Write([]byte("all of it"))
				if tt.notify {
					s.CloseWrite()
				}
				far.CloseWrite()
			}()
			c := NewTLSClient(tt.wrap(raw), clientConfig(t))
			b, err := io.ReadAll(c)
			if err != nil || string(b) != "all of it" {
				t.Fatalf("read %q, %v", b, err)
			}
			if c.Truncated() == tt.notify {
				t.Errorf("truncated: %v", c.Truncated())
			}
		})
	}
}
