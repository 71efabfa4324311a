package h1

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
	"example.com/connwise/internal/wire"
)

var serverCert = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"},
		NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// tlsPair is a TLS connection over fakenet after its handshake.
func tlsPair(t *testing.T) (client, server *tls.Conn, under *fakenet.Conn) {
	t.Helper()
	a, b := fakenet.Pipe()
	client = tls.Client(a, &tls.Config{InsecureSkipVerify: true})
	server = tls.Server(b, &tls.Config{Certificates: []tls.Certificate{serverCert()}})
	errs := make(chan error, 1)
	go func() { errs <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-errs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return client, server, a
}

func TestCloseOfAnIdleTLSConnectionSaysSo(t *testing.T) {
	client, server, under := tlsPair(t)
	c := NewConn(client, &Options{})
	c.Close()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("peer's Read: %v, want EOF by a close_notify", err)
	}
	<-under.Closed()
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestCloseDoesNotWaitForAShutWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, under := tlsPair(t)
		c := NewConn(client, &Options{})
		under.SetBuffer(0)
		start := time.Now()
		c.Close()
		elapsed(t, start, closeNotifyTime)
		<-under.Closed()
	})
}

func TestBrokenTLSConnectionIsClosedWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, under := tlsPair(t)
		c := NewConn(client, &Options{})
		r := &rig{t: t, c: c}
		a := r.start(get(t))
		if _, err := io.ReadFull(server, make([]byte, len(getHead))); err != nil {
			t.Fatal(err)
		}
		under.SetBuffer(0) // an alert would have to wait
		start := time.Now()
		c.Close() // in use
		elapsed(t, start, 0)
		a.failsWith(net.ErrClosed)
		if b, err := io.ReadAll(server.NetConn()); len(b) > 0 || err != nil {
			t.Errorf("the peer got %q, %v", b, err)
		}
	})
}

func TestExchangeOverTLS(t *testing.T) {
	client, server, _ := tlsPair(t)
	r := &rig{t: t, c: NewConn(client, &Options{})}
	a := r.start(get(t))
	if _, err := io.ReadFull(server, make([]byte, len(getHead))); err != nil {
		t.Fatal(err)
	}
	io.WriteString(server, ok5)
	a.answer(200)
	a.reads("hello")
	a.wantEnd(wire.EndKept)
	a.wantFacts(wire.Facts{Sent: int64(len(getHead)), AllSent: true, Answered: true})
}

// truncatable is a layer that knows whether the end was genuine.
type truncatable struct {
	net.Conn
	truncated bool
}

func (c truncatable) Truncated() bool { return c.truncated }

// TestForgedEnd: a body that only the connection's end delimits is whole only if the
// end is genuine. Other bodies don't depend on it.
func TestForgedEnd(t *testing.T) {
	for _, forged := range []bool{false, true} {
		for _, head := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"} {
			r := newRig(t, Options{})
			r.c = NewConn(truncatable{eagerConn{r.nc}, forged}, &Options{})
			a := r.start(get(t))
			r.hearsHead()
			r.says(head + "hello")
			a.answer(200)
			b, err := io.ReadAll(a.resp.Body)
			if bad := forged && a.resp.ContentLength < 0; string(b) != "hello" || (err == io.ErrUnexpectedEOF) != bad {
				t.Errorf("forged %v: read %q, %v", forged, b, err)
			}
			if why := <-a.ends; why == wire.EndKept {
				t.Error("kept")
			}
		}
	}
}

// A layer is a connection on another that notes when it's closed.
type layer struct {
	net.Conn
	name string
	log  *[]string
}

func (l layer) Close() error { *l.log = append(*l.log, l.name); return l.Conn.Close() }

// openLayer tells what it's on.
type openLayer struct{ layer }

func (l openLayer) NetConn() net.Conn { return l.Conn }

func TestLayersAreClosedFromBelowWhenBroken(t *testing.T) {
	nc, peer := fakenet.Pipe()
	defer peer.Close()
	var log []string
	bottom := layer{nc, "bottom", &log}
	top := openLayer{layer{openLayer{layer{bottom, "middle", &log}}, "top", &log}}
	c := NewConn(top, &Options{})
	c.kill()
	if len(log) < 2 || log[0] != "bottom" || log[1] != "top" {
		t.Errorf("closed %q, want the bottom first and then the top", log)
	}

	log = nil
	c = NewConn(top, &Options{})
	c.Close()
	if len(log) < 1 || log[0] != "top" {
		t.Errorf("closed %q, want the top first", log)
	}

	log = nil
	client, _, _ := tlsPair(t)
	c = NewConn(tls.Client(layer{client, "under TLS", &log}, &tls.Config{}), &Options{})
	c.kill()
	if len(log) != 1 {
		t.Errorf("what is under TLS was closed %d times", len(log))
	}
}

// TestConnOfAnUncomparableType: a caller's type need not allow ==.
func TestConnOfAnUncomparableType(t *testing.T) {
	nc, peer := fakenet.Pipe()
	defer peer.Close()
	type slices struct {
		net.Conn
		_ []int
	}
	NewConn(slices{Conn: nc}, &Options{}).kill()
	<-nc.Closed()
}

func TestCloseFromManyGoroutines(t *testing.T) {
	r := newRig(t, Options{})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { r.c.Close(); r.wantClosed() })
	}
	wg.Wait()
}
