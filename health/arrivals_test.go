//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"net"
	"runtime"
	"testing"
)

func TestArrivals(t *testing.T) {
	for _, tt := range []struct {
		name          string
		peer          func(c *net.TCPConn)
		ended, unread bool
	}{
		{"nothing", func(*net.TCPConn) {}, false, false},
		{"bytes", func(c *net.TCPConn) { c.Write([]byte("x")) }, false, true},
		{"FIN", func(c *net.TCPConn) { c.CloseWrite() }, true, true},
		{"RST", func(c *net.TCPConn) { c.SetLinger(0); c.Close() }, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, server := pair(t)
			a := NewArrivals(client)
			tt.peer(server)
			eventually(t, tt.name, func() bool {
				ended, unread := a.Look()
				return ended == tt.ended && (unread == tt.unread || tt.name == "RST")
			})
		})
	}
}

func TestArrivalsSeesAnEndBehindBytes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the platform can't tell")
	}
	client, server := pair(t)
	a := NewArrivals(client)
	server.Write([]byte("x"))
	server.Close()
	eventually(t, "an end behind bytes", func() bool { ended, unread := a.Look(); return ended && unread })
}

func TestArrivalsWithoutASocket(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	if ended, unread := NewArrivals(client).Look(); ended || unread {
		t.Errorf("Look = %v, %v on a pipe", ended, unread)
	}
}

func TestArrivalsOnAClosedConnection(t *testing.T) {
	client, _ := pair(t)
	a := NewArrivals(client)
	client.Close()
	if ended, _ := a.Look(); !ended {
		t.Error("a connection that is closed on this side has not ended")
	}
}
