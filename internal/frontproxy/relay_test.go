//go:build unix

package frontproxy

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

const testDelay = 20 * time.Millisecond

// throughRelay returns both ends of a connection through a relay.
func throughRelay(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r, err := StartRelay(ln.Addr().String(), testDelay)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(StartTime))
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []net.Conn{c, s} {
		_ = end.SetDeadline(time.Now().Add(StartTime))
		t.Cleanup(func() { end.Close() })
	}
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func TestRelayDelaysEachWay(t *testing.T) {
	client, server := throughRelay(t)
	begin := time.Now()
	if _, err := client.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	n, err := server.Read(buf)
	if err != nil || string(buf[:n]) != "ping" {
		t.Fatalf("server read %q, %v", buf[:n], err)
	}
	if d := time.Since(begin); d < testDelay {
		t.Errorf("one way took %v, want at least %v", d, testDelay)
	}
	if _, err := server.Write([]byte("pong")); err != nil {
		t.Fatal(err)
	}
	if n, err = client.Read(buf); err != nil || string(buf[:n]) != "pong" {
		t.Fatalf("client read %q, %v", buf[:n], err)
	}
	if d := time.Since(begin); d < 2*testDelay {
		t.Errorf("both ways took %v, want at least %v", d, 2*testDelay)
	}
}

func TestRelayKeepsFIN(t *testing.T) {
	client, server := throughRelay(t)
	if _, err := server.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	_ = server.CloseWrite()
	if b, err := io.ReadAll(client); err != nil || string(b) != "last words" {
		t.Errorf("client read %q, %v, want the bytes, then EOF", b, err)
	}
	// The other way is open still.
	if _, err := client.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	_ = client.CloseWrite()
	if b, err := io.ReadAll(server); err != nil || string(b) != "answer" {
		t.Errorf("server read %q, %v, want the bytes, then EOF", b, err)
	}
}

func TestRelayKeepsRST(t *testing.T) {
	client, server := throughRelay(t)
	reset(server)
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("client read: %v, want ECONNRESET", err)
	}
}

func TestRelayAnswersLateBytesWithRST(t *testing.T) {
	client, server := throughRelay(t)
	_ = server.Close()
	if n, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("client read %d bytes, %v, want EOF", n, err)
	}
	// The first write draws an RST from the closed end, a later one finds it.
	var err error
	for err == nil {
		_, err = client.Write([]byte("late"))
		if _, rerr := client.Read(make([]byte, 1)); err == nil && rerr != io.EOF {
			err = rerr
		}
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("late bytes: %v, want EPIPE or ECONNRESET", err)
	}
}
