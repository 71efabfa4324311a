//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"
)

func TestArrivals(t *testing.T) {
	for _, tt := range []struct {
		name          string
		peer          func(c *net.TCPConn)
		ended, unread bool
		cause         Cause
	}{
		{"nothing", func(*net.TCPConn) {}, false, false, CauseUnknown},
		{"bytes", func(c *net.TCPConn) { c.Write([]byte("x")) }, false, true, CauseUnknown},
		{"FIN", func(c *net.TCPConn) { c.CloseWrite() }, true, true, CauseFIN},
		{"RST", func(c *net.TCPConn) { c.SetLinger(0); c.Close() }, true, true, CauseReset},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, server := pair(t)
			a := NewArrivals(client)
			tt.peer(server)
			eventually(t, tt.name, func() bool {
				ended, unread := a.Look()
				return ended == tt.ended && (unread == tt.unread || tt.name == "RST")
			})
			if got := a.Cause(); got != tt.cause {
				t.Errorf("the cause is %v, want %v", got, tt.cause)
			}
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
	if got := a.Cause(); got != CauseUnknown {
		t.Errorf("the cause is %v", got)
	}
}

// The read loop has to get its error, and Cause has to tell the same after that.
func TestArrivalsCauseTakesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the platform has nothing to tell without taking it")
	}
	client, server := pair(t)
	a := NewArrivals(client)
	reset(t, server)
	eventually(t, "the RST is here", func() bool { return a.Cause() == CauseReset })
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read gives %v", err)
	}
	if got := a.Cause(); got != CauseReset {
		t.Errorf("after Read the cause is %v", got)
	}
}
