package pool

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
)

// A slowTLS is a server whose handshakes take long, and whose timer for connections that
// carry nothing begins when it accepts them, as nginx's does.
type slowTLS struct {
	config *tls.Config
	takes  time.Duration // a handshake
	timer  time.Duration
	wg     sync.WaitGroup
}

// slowTLSPair has a server and a transport that dials it. To be called outside of the bubble.
func slowTLSPair(t *testing.T, takes, timer time.Duration) (*slowTLS, *http.Transport) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	s := &slowTLS{config: &tls.Config{Certificates: srv.TLS.Certificates}, takes: takes, timer: timer}
	client := srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	return s, &http.Transport{TLSClientConfig: client, DialContext: s.dial}
}

func (s *slowTLS) dial(context.Context, string, string) (net.Conn, error) {
	client, server := fakenet.Pipe()
	s.wg.Go(func() { s.serve(server) })
	return client, nil
}

func (s *slowTLS) serve(raw net.Conn) {
	defer raw.Close()
	raw.SetDeadline(time.Now().Add(s.takes + s.timer))
	begin := time.Now()
	time.Sleep(s.takes)
	c := tls.Server(raw, s.config)
	if c.Handshake() != nil {
		return
	}
	c.SetDeadline(begin.Add(max(s.timer, s.takes+time.Millisecond)))
	for r := bufio.NewReader(c); ; c.SetDeadline(time.Time{}) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

// When the server accepts a connection it is as old as its dial, and not as its handshake: else
// a moment of slow handshakes teaches that unused connections are closed at once.
func TestUnusedTimeIsLearntFromTheDial(t *testing.T) {
	s, base := slowTLSPair(t, 700*time.Millisecond, time.Second)
	synctest.Test(t, func(t *testing.T) {
		tr, err := New(Config{Base: base, MinIdlePerHost: 5})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Warm(t.Context(), "https://127.0.0.1/", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		h := tr.Stats().Hosts[0]
		if d := h.LearntUnused; d < 900*time.Millisecond || d > 1100*time.Millisecond {
			t.Errorf("learnt that unused connections are closed after %v, which is 1s; closed %v", d, h.IdleCloses)
		}
		tr.Close()
		s.wg.Wait()
	})
}

// A handshake that takes longer than the idle limit leaves something of it, or no connection
// would ever be of use.
func TestSlowHandshakeLeavesTimeToUseTheConnection(t *testing.T) {
	const limit = 500 * time.Millisecond
	s, base := slowTLSPair(t, 2*limit, time.Minute)
	synctest.Test(t, func(t *testing.T) {
		tr, err := New(Config{Base: base, ProxyIdleTimeout: 2 * limit, IdleMargin: limit})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Warm(t.Context(), "https://127.0.0.1/", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(limit / 4)
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://127.0.0.1/", nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if h := tr.Stats().Hosts[0]; h.Dials != 1 {
			t.Errorf("%d dials for one connection: %v", h.Dials, h.ClosedBy)
		}
		tr.Close()
		s.wg.Wait()
	})
}
