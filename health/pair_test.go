//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every wait for something that has to happen.
const patience = 10 * time.Second

// pair returns the two ends of a TCP connection.
func pair(t testing.TB) (client, server *net.TCPConn) {
	t.Helper()
	c, s := connect(t, "tcp", "127.0.0.1:0")
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func unixPair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	return connect(t, "unix", filepath.Join(t.TempDir(), "s"))
}

func connect(t testing.TB, network, addr string) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// reset closes c with an RST.
func reset(t testing.TB, c net.Conn) {
	t.Helper()
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// awaitEvent waits until the kernel has something to tell about c's socket: POLLIN for
// bytes or a FIN.
func awaitEvent(t testing.TB, c syscall.Conn, events int16) {
	t.Helper()
	rc, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	rc.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
		for {
			n, err = unix.Poll(fds, int(patience.Milliseconds()))
			if err != unix.EINTR {
				return
			}
		}
	})
	if n != 1 || err != nil {
		t.Fatalf("no event on the socket: %d, %v", n, err)
	}
}

// awaitQueued waits until n bytes are in c's receive queue. There's no event for "more
// than before".
func awaitQueued(t testing.TB, c syscall.Conn, n int) {
	t.Helper()
	rc, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, n+1)
	eventually(t, "bytes in the receive queue", func() bool {
		got := 0
		rc.Control(func(fd uintptr) { got, _ = peek(fd, buf) })
		return got >= n
	})
}

// eventually waits for something that tells nobody when it happens.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
		pause()
	}
}

// pause gives up the processor for about a millisecond.
func pause() { unix.Poll(nil, 1) }

func wantLook(t testing.TB, look func() (Verdict, error), want Verdict, reason error) {
	t.Helper()
	got, err := look()
	if got != want || !isReason(err, reason) {
		t.Fatalf("the look gives %v, %v; want %v, %v", got, err, want, reason)
	}
}

// wantRead reads exactly what is expected.
func wantRead(t testing.TB, r io.Reader, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(r, b); err != nil || string(b) != want {
		t.Fatalf("read %q, %v; want %q", b, err, want)
	}
}

func write(t testing.TB, w io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
}

var certOnce = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"server.test"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})

// serverConfig and clientConfig fit each other. Tests change the copies they get.
func serverConfig(t testing.TB) *tls.Config {
	t.Helper()
	cert, err := certOnce()
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

func clientConfig(t testing.TB) *tls.Config {
	t.Helper()
	cert, err := certOnce()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{RootCAs: roots, ServerName: "server.test", ClientSessionCache: tls.NewLRUClientSessionCache(4)}
}

// shake makes the handshake on both ends.
func shake(t testing.TB, client interface{ Handshake() error }, server *tls.Conn) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
