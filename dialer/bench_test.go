package dialer

import (
	"net"
	"testing"
)

// BenchmarkDial compares the pool's way with net.Dialer, each dial closed again.
func BenchmarkDial(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	addr := l.Addr().String()
	b.Run("by=Dialer", func(b *testing.B) {
		b.ReportAllocs()
		var d Dialer
		for b.Loop() {
			l, err := d.Dial(b.Context(), Route{Addr: addr})
			if err != nil {
				b.Fatal(err)
			}
			reset(l.Conn)
		}
	})
	b.Run("by=net.Dialer", func(b *testing.B) {
		b.ReportAllocs()
		var d net.Dialer
		for b.Loop() {
			c, err := d.DialContext(b.Context(), "tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			reset(c)
		}
	})
}

// reset leaves no TIME_WAIT, of which there are not enough ports for.
func reset(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}
