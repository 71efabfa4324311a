//go:build proxies && unix

package realproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
)

// quiet takes what net/http's servers say of clients that went away.
var quiet = log.New(io.Discard, "", 0)

// goServerName is the kind that is no proxy, but net/http's own server with TLS.
const goServerName = "net/http"

// A goServer serves with an http.Server, and reloads as programs do that hand their
// listening socket to a successor: the successor accepts, the old server is shut down.
type goServer struct {
	ln      *net.TCPListener
	handler http.Handler
	idle    time.Duration
	tls     *tls.Config
	roots   *x509.CertPool
	wg      sync.WaitGroup
	current *http.Server
}

// startGoServer listens on a port of its own. It ends with the test.
func startGoServer(t *testing.T, h http.Handler, idle time.Duration) *goServer {
	t.Helper()
	a, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &goServer{ln: ln.(*net.TCPListener), handler: h, idle: idle, roots: a.Roots(),
		tls: &tls.Config{Certificates: []tls.Certificate{a.Certificate()}}}
	t.Cleanup(s.Stop)
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *goServer) addr() string { return s.ln.Addr().String() }

// begin starts a server on a copy of the listening socket, so that the copy's close
// loses no connection that waits to be accepted.
func (s *goServer) begin() error {
	f, err := s.ln.File()
	if err != nil {
		return err
	}
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: s.handler, TLSConfig: s.tls.Clone(), IdleTimeout: s.idle, ErrorLog: quiet}
	s.current = srv
	s.wg.Go(func() { _ = srv.ServeTLS(ln, "", "") })
	return nil
}

// Reload starts a successor and shuts the old server down. Its requests may still be
// ending then.
func (s *goServer) Reload() error {
	old := s.current
	if err := s.begin(); err != nil {
		return err
	}
	s.wg.Go(func() { shutDown(old, bulkTime) })
	return nil
}

// Stop ends all servers and waits for them. It may be called again.
func (s *goServer) Stop() {
	_ = s.ln.Close()
	shutDown(s.current, frontproxy.StopTime)
	s.wg.Wait()
}

// shutDown waits for the server's requests, but no longer than max.
func shutDown(srv *http.Server, max time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), max)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		_ = srv.Close()
	}
}
