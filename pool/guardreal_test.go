package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
)

// realPair is a guarded socket and its server's end.
func realPair(t testing.TB, g *Guard) (client net.Conn, server *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err = g.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); nc.Close() })
	return client, nc.(*net.TCPConn)
}

func newGuard(t testing.TB, cfg GuardConfig) *Guard {
	t.Helper()
	g, err := NewGuard(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// answerOne reads a request and answers it, with the client's end doing its part.
func answerOne(t testing.TB, client net.Conn, server *net.TCPConn) {
	t.Helper()
	if _, err := io.WriteString(client, getHead); err != nil {
		t.Fatal(err)
	}
	io.ReadFull(server, make([]byte, len(getHead)))
	io.WriteString(server, okAnswer)
	if _, err := io.ReadFull(client, make([]byte, len(okAnswer))); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for what the kernel and the watcher tell by no event.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	eventuallyIn(t, 5*time.Second, what, cond)
}

func eventuallyIn(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("long after: not %s", what)
		}
	}
}

// Nobody reads; the look before the write finds the end.
func TestGuardLooksBeforeItWrites(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no look on Windows")
	}
	for name, end := range map[string]func(*net.TCPConn){
		"fin":   func(c *net.TCPConn) { c.CloseWrite() },
		"reset": func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(t, GuardConfig{})
			client, server := realPair(t, g)
			answerOne(t, client, server)
			end(server)
			heard := health.NewArrivals(client)
			eventually(t, "ended", func() bool { ended, _ := heard.Look(); return ended })
			n, err := io.WriteString(client, getHead)
			e, ok := errors.AsType[*GuardError](err)
			if n != 0 || !ok || e.Err != ErrPeerClosed || e.Cause.String() != name {
				t.Fatalf("wrote %d, %v: %+v", n, err, e)
			}
			client.Close()
			h := g.Stats().Hosts[0]
			if h.Stale != 1 || h.IdleCloses[name] != 1 || h.ClosedBy[ReasonPeerClosed] != 1 {
				t.Errorf("stale %d, %v, %v", h.Stale, h.IdleCloses, h.ClosedBy)
			}
		})
	}
}

// With no reader the watcher keeps the time of the end: closing much later teaches the age
// at which the peer closed.
func TestGuardWatchesWhatNobodyReads(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is a watcher on Linux only")
	}
	const idle, late = 80 * time.Millisecond, 300 * time.Millisecond
	g := newGuard(t, GuardConfig{})
	client, server := realPair(t, g)
	answerOne(t, client, server)
	time.AfterFunc(idle, func() { server.CloseWrite() })
	c := client.(*guardConn)
	eventually(t, "watched", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return !c.ended.IsZero() })
	<-time.After(late)
	client.Close()
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if ev := c.h.known.used.events; len(ev) != 1 || ev[0].least < idle || ev[0].least >= late {
		t.Errorf("learnt from %+v", ev)
	}
}

// What the kernel copies is counted, and is never judged in the middle of a request.
func TestGuardSendsFiles(t *testing.T) {
	g := newGuard(t, GuardConfig{})
	client, server := realPair(t, g)
	const size = 1 << 20
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	got := make(chan int64)
	go func() { n, _ := io.Copy(io.Discard, server); got <- n }()
	io.WriteString(client, postHead)
	n, err := io.Copy(client, f)
	if n != size || err != nil {
		t.Errorf("copied %d, %v", n, err)
	}
	if n, _ := Accepted(client); n != size+int64(len(postHead)) {
		t.Errorf("%d bytes count", n)
	}
	client.Close()
	if n := <-got; n != size+int64(len(postHead)) {
		t.Errorf("%d bytes arrived", n)
	}
}

func TestGuardTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	base := srv.Client().Transport.(*http.Transport).TLSClientConfig
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		cfg := base.Clone()
		cfg.NextProtos = map[string][]string{"HTTP/1.1": {"http/1.1"}, "HTTP/2.0": {"h2", "http/1.1"}}[proto]
		g := newGuard(t, GuardConfig{TLSClientConfig: cfg, ProxyIdleTimeout: time.Minute})
		tr := &http.Transport{DialTLSContext: g.DialTLSContext, ForceAttemptHTTP2: proto == "HTTP/2.0"}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(b) != proto || resp.TLS == nil || !resp.TLS.HandshakeComplete {
			t.Errorf("the server says %s", b)
		}
		if h := g.Stats().Hosts[0]; h.Proto != proto || h.Open != 1 {
			t.Errorf("%s: %+v", proto, h)
		}
	}
}

func TestGuardTLSFailures(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // it accepts, and says nothing
	short := &dialer.Dialer{TLSTimeout: 20 * time.Millisecond}
	for _, limit := range []time.Duration{time.Minute, 20 * time.Millisecond} {
		cfg := GuardConfig{}
		if limit == time.Minute { // the dialer's limit is to end it
			cfg.Dialer = short
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		g := newGuard(t, cfg)
		_, err = g.DialTLSContext(ctx, "tcp", ln.Addr().String())
		e, ok := errors.AsType[*dialer.Error](err)
		if !ok || e.Stage != dialer.StageTLS || !e.Timeout() {
			t.Errorf("%v", err)
		}
		// HandshakeContext closes on a goroutine of its own.
		eventually(t, "closed", func() bool { return g.Stats().Total.Closed == 1 })
		checkGuardBooks(t, g)
	}
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	g := newGuard(t, GuardConfig{TLSClientConfig: &tls.Config{RootCAs: nil, ServerName: "other.test"}})
	_, err = g.DialTLSContext(t.Context(), "tcp", strings.TrimPrefix(srv.URL, "https://"))
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("%v", err)
	}
	checkGuardBooks(t, g)
	if h := g.Stats().Hosts[0]; len(h.IdleCloses) != 0 {
		t.Errorf("a failed handshake counts as an idle close: %v", h.IdleCloses)
	}
}

// BenchmarkGuardWrite is what the guard adds to the first write of a request, look included:
// against is the same write to the socket itself.
func BenchmarkGuardWrite(b *testing.B) {
	client, server := realPair(b, newGuard(b, GuardConfig{ProxyIdleTimeout: time.Minute}))
	go io.Copy(io.Discard, server)
	c := client.(*guardConn)
	p := []byte(getHead)
	b.Run("judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.admit(p); err != nil {
				b.Fatal("refused")
			}
			c.heardOf([]byte(okAnswer), nil)
		}
	})
	for name, w := range map[string]io.Writer{"guarded": c, "socket": c.Conn} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if name == "guarded" {
					c.heardOf([]byte(okAnswer), nil)
				}
				w.Write(p)
			}
		})
	}
}
