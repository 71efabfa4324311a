package pool

import (
	"crypto/tls"
	"net"
	"testing"
)

// helloOf is the ClientHello of crypto/tls.
func helloOf(t testing.TB, protos []string) string {
	return firstWrite(t, &tls.Config{ServerName: "a.test", NextProtos: protos})
}

// resumable is one of a client that would resume sessions.
func resumable(t testing.TB) string {
	return firstWrite(t, &tls.Config{ServerName: "a.test", ClientSessionCache: tls.NewLRUClientSessionCache(1)})
}

func firstWrite(t testing.TB, cfg *tls.Config) string {
	t.Helper()
	c := &firstWriteConn{}
	if tls.Client(c, cfg).Handshake() == nil || c.first == "" {
		t.Fatal("no ClientHello was written")
	}
	return c.first
}

// A firstWriteConn keeps what is written to it first, and has nothing to read.
type firstWriteConn struct {
	net.Conn
	first string
}

func (c *firstWriteConn) Read([]byte) (int, error) { return 0, net.ErrClosed }
func (c *firstWriteConn) Close() error             { return nil }
func (c *firstWriteConn) Write(p []byte) (int, error) {
	if c.first == "" {
		c.first = string(p)
	}
	return len(p), nil
}
