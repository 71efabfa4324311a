package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/connwise/internal/peer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// idle is the idle timeout of the tests' servers, and slack what a busy machine may add to
	// or take from an age.
	idle  = 200 * time.Millisecond
	slack = 150 * time.Millisecond
)

// quick are options for servers that end connections after idle.
func quick(url string) Options {
	return Options{URL: url, Conns: 4, Max: 20 * time.Second, Requests: 30, Spread: 60 * time.Millisecond, Timeout: 5 * time.Second}
}

// hasty makes p wait for nothing that a test's server doesn't do.
func hasty(t *testing.T, o Options) *Probe {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.linger, p.minUnused = time.Second, 2*idle
	return p
}

// measured runs a probe and returns its report, which has n protocols without an error.
func measured(t *testing.T, p *Probe, n int) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	rep, err := p.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Protocols) != n {
		t.Fatalf("%d protocols, want %d: %+v", len(rep.Protocols), n, rep.Protocols)
	}
	for _, pr := range rep.Protocols {
		if pr.Error != "" {
			t.Fatalf("%s: %s", pr.Proto, pr.Error)
		}
	}
	return rep
}

// wantIdle checks that all connections ended at about age, in one way.
func wantIdle(t *testing.T, what string, e *Endings, age time.Duration, how string) {
	t.Helper()
	if e == nil {
		t.Fatalf("%s: nothing was measured", what)
	}
	if e.Conns == 0 || e.Ended != e.Conns || e.Failed != 0 || len(e.Ages) != e.Ended {
		t.Errorf("%s: %d of %d ended, %d failed", what, e.Ended, e.Conns, e.Failed)
	}
	if low, high := e.Min.Duration(), e.Max.Duration(); low < age-slack || high > age+slack*10 {
		t.Errorf("%s: ended after %v to %v, want about %v", what, low, high, age)
	}
	if !slices.IsSorted(e.Ages) || e.Median < e.Min || e.Median > e.Max {
		t.Errorf("%s: min %v, median %v, max %v of %v", what, e.Min, e.Median, e.Max, e.Ages)
	}
	if len(e.How) != 1 || e.How[0].Words != how || e.How[0].Conns != e.Conns {
		t.Errorf("%s: ended by %+v, want %q", what, e.How, how)
	}
}

func startPeer(t *testing.T, a *peer.Authority, f peer.Faults) *peer.Server {
	t.Helper()
	s, err := peer.Start(a, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func startH2(t *testing.T, o peer.H2Options) *peer.H2Server {
	t.Helper()
	s, err := peer.StartH2(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newAuthority(t *testing.T) *peer.Authority {
	t.Helper()
	a, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// serverTLS is a TLS server's configuration for 127.0.0.1, without ALPN, and whom to trust.
func serverTLS(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, roots
}

// script serves each connection to a loopback port with serve, which says how many came
// before, and returns the port's URL. It ends with the test, whose connections it closes.
func script(t *testing.T, cfg *tls.Config, serve func(c *scripted, nth int)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards open
	var open []net.Conn
	wg.Go(func() {
		for nth := 0; ; nth++ {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, raw)
			mu.Unlock()
			wg.Go(func() {
				defer raw.Close()
				c := &scripted{Conn: raw, raw: raw.(*net.TCPConn)}
				if cfg != nil {
					c.Conn = tls.Server(raw, cfg)
				}
				c.br = bufio.NewReader(c.Conn)
				serve(c, nth)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	if cfg != nil {
		return "https://" + ln.Addr().String() + "/"
	}
	return "http://" + ln.Addr().String() + "/"
}

// A scripted connection is the server's end of one.
type scripted struct {
	net.Conn
	raw *net.TCPConn
	br  *bufio.Reader
}

// next reads a request; nil: none came before d was over, or the client has closed.
func (c *scripted) next(d time.Duration) *http.Request {
	if d > 0 {
		_ = c.raw.SetReadDeadline(time.Now().Add(d))
		defer c.raw.SetReadDeadline(time.Time{})
	}
	req, err := http.ReadRequest(c.br)
	if err != nil {
		return nil
	}
	return req
}

// say writes an answer as it is given, with LF for CRLF.
func (c *scripted) say(text string) { _, _ = io.WriteString(c, strings.ReplaceAll(text, "\n", "\r\n")) }

// untilClosed waits for the client's end.
func (c *scripted) untilClosed() { _, _ = io.Copy(io.Discard, c.br) }

// wantEach waits for n events.
func wantEach(t *testing.T, events <-chan struct{}, n int) {
	t.Helper()
	late := time.After(10 * time.Second)
	for i := range n {
		select {
		case <-events:
		case <-late:
			t.Fatalf("%d of %d connections were closed as they should be", i, n)
		}
	}
}

const ok = "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"
