package dialer

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait for something that has to happen.
const patience = 10 * time.Second

// A peer accepts connections and serves each by a script. All have ended when the test
// ends, and their scripts too.
type peer struct {
	t    testing.TB
	addr string
	l    net.Listener
	wg   sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func newPeer(t testing.TB, script func(c net.Conn)) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newPeerOn(t, l, script)
}

func newPeerOn(t testing.TB, l net.Listener, script func(c net.Conn)) *peer {
	p := &peer{t: t, addr: l.Addr().String(), l: l}
	p.wg.Go(func() { p.accept(script) })
	t.Cleanup(p.close)
	return p
}

func (p *peer) accept(script func(c net.Conn)) {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, c)
		p.mu.Unlock()
		p.wg.Go(func() { script(c) })
	}
}

func (p *peer) close() {
	p.l.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *peer) accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// silent is a script that reads until the client has closed, and tells when that was.
func silent(closed chan<- time.Time) func(net.Conn) {
	return func(c net.Conn) {
		io.Copy(io.Discard, c)
		closed <- time.Now()
	}
}

// echo is a script for an origin.
func echo(c net.Conn) {
	io.Copy(c, c)
	c.Close()
}

func withTLS(cfg *tls.Config, script func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) { script(tls.Server(c, cfg)) }
}

// httpProxy is a script for a proxy that makes tunnels to anywhere. It tells what it was
// asked.
func httpProxy(asked chan<- *http.Request) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		br := bufio.NewReader(c)
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		asked <- req
		up, err := net.Dial("tcp", req.Host)
		if err != nil {
			io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
			return
		}
		defer up.Close()
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\nContent-Length: 17\r\n\r\n")
		splice(c, br, up)
	}
}

// splice copies both ways until one of them ends.
func splice(c net.Conn, fromC io.Reader, up net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(up, fromC); up.Close() })
	io.Copy(c, up)
	c.Close()
	wg.Wait()
}

var certOnce = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"origin.test", "proxy.test"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})

func serverTLS(t testing.TB) *tls.Config {
	t.Helper()
	cert, err := certOnce()
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

// clientTLS trusts serverTLS.
func clientTLS(t testing.TB) *tls.Config {
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
	return &tls.Config{RootCAs: roots}
}

// wantError returns err as an *Error of the stage.
func wantError(t testing.TB, err error, stage Stage) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error is %T %v, want *Error", err, err)
	}
	if e.Stage != stage {
		t.Fatalf("stage is %v, want %v: %v", e.Stage, stage, err)
	}
	return e
}

// wantEcho proves that the link leads to an echo.
func wantEcho(t testing.TB, c net.Conn) {
	t.Helper()
	const text = "over there"
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	wantRead(t, c, text)
}

func wantRead(t testing.TB, r io.Reader, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(r, b); err != nil || string(b) != want {
		t.Fatalf("read %q, %v; want %q", b[:n], err, want)
	}
}

// wantSoon fails if the time between from and to is longer than d.
func wantSoon(t testing.TB, what string, from, to time.Time, d time.Duration) {
	t.Helper()
	if took := to.Sub(from); took > d {
		t.Errorf("%s took %v, want at most %v", what, took, d)
	}
}

func wantEvent[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("never happened: %s", what)
		panic("not reached")
	}
}

// names is a Resolver with fixed answers.
type names map[string][]string

func (n names) LookupHost(_ context.Context, host string) ([]string, error) {
	if addrs, ok := n[host]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// resolverFunc is a Resolver.
type resolverFunc func(ctx context.Context, host string) ([]string, error)

func (f resolverFunc) LookupHost(ctx context.Context, host string) ([]string, error) {
	return f(ctx, host)
}

func portOf(t testing.TB, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// refusing returns an address on which nobody listens.
func refusing(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
