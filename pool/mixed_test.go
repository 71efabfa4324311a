package pool

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Twenty thousand operations of all kinds, by many workers at a time over real sockets, on
// whatever is spoken: requests that end in any way, and what an operator may do at any moment.
// The limit is kept, and afterwards every gauge is zero, and what was opened is closed.
func TestTwentyThousandMixedOperations(t *testing.T) {
	const each, workers = 5000, 32
	for name, serve := range map[string]func(*httptest.Server){
		"h1":  (*httptest.Server).Start,
		"TLS": (*httptest.Server).StartTLS,
		"h2":  func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
		"h2c": func(s *httptest.Server) {
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMixture(t, serve)
			var left atomic.Int64
			left.Store(each)
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for r := rand.New(rand.NewPCG(uint64(w), 9)); left.Add(-1) >= 0; {
						m.operate(r)
					}
				})
			}
			wg.Wait()
			m.wantCalm()
		})
	}
}

// A mixture is a transport, its server, and the connections between them.
type mixture struct {
	*testing.T
	tr        *Transport
	url, host string
	open      atomic.Int64 // connections, from the dial to Close
}

// mixtureLimit is MaxConnsPerHost.
const mixtureLimit = 12

func newMixture(t *testing.T, serve func(*httptest.Server)) *mixture {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(answerMixed))
	serve(srv)
	t.Cleanup(srv.Close)
	m := &mixture{T: t, url: srv.URL, host: srv.Listener.Addr().String()}
	base := srv.Client().Transport.(*http.Transport).Clone()
	base.DialContext = m.dial
	base.Protocols = srv.Config.Protocols
	base.ForceAttemptHTTP2 = srv.EnableHTTP2
	tr, err := New(Config{
		Base: base, MaxConnsPerHost: mixtureLimit, MaxIdlePerHost: 10, MinIdlePerHost: 1, MaxRequestsPerConn: 50,
		MaxWait: 200 * time.Millisecond, MaxConnAge: 300 * time.Millisecond, ProxyIdleTimeout: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	m.tr = tr
	return m
}

func answerMixed(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/close":
		w.Header().Set("Connection", "close") // with HTTP/2: GOAWAY
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/large":
		io.WriteString(w, strings.Repeat("x", 100<<10))
	case "/early": // the body isn't read
		return
	}
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "ok")
}

func (m *mixture) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	m.open.Add(1)
	nc, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		m.open.Add(-1)
		return nil, err
	}
	return &countedConn{Conn: nc, open: &m.open}, nil
}

// operate does one thing.
func (m *mixture) operate(r *rand.Rand) {
	switch r.IntN(100) {
	case 0:
		m.tr.Drain(m.host)
	case 1:
		m.tr.CloseIdleConnections()
	case 2:
		ctx, cancel := context.WithTimeout(m.Context(), time.Duration(r.IntN(5000))*time.Microsecond)
		defer cancel()
		_ = m.tr.Warm(ctx, m.url, r.IntN(4)) // its limits, the time or Drain may be in the way
	case 3, 4:
		m.wantLimit()
	default:
		paths := []string{"/", "/", "/", "/", "/close", "/abort", "/large", "/early"}
		oneOf(m.T, m.tr, r, m.url+paths[r.IntN(len(paths))])
	}
}

// wantLimit looks at a moment's gauges.
func (m *mixture) wantLimit() {
	for _, h := range m.tr.Stats().Hosts {
		if h.Open+h.Dialing > mixtureLimit || h.Idle+h.InUse != h.Open {
			m.Errorf("the limit is %d, but: %+v", mixtureLimit, h)
		}
	}
}

// wantCalm is the end.
func (m *mixture) wantCalm() {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), 10*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", m.url, nil)
	resp, err := m.tr.RoundTrip(req)
	if err != nil {
		m.Fatalf("a plain request afterwards: %v", err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err := m.tr.Shutdown(ctx); err != nil {
		m.Errorf("Shutdown: %v, with %+v", err, m.tr.Stats().Hosts)
	}
	(&script{T: m.T, tr: m.tr}).wantAtRest()
	if n := m.open.Load(); n != 0 {
		m.Errorf("%d connections are open", n)
	}
	total := m.tr.Stats().Total
	if total.Sent < 100 || total.Reused == 0 || total.Waited == 0 || total.Closed < 10 {
		m.Errorf("too little has happened: %+v", total)
	}
}
