//go:build prometheus

package poolprom_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/pool/poolprom"
	"example.com/connwise/retry"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A trouble is a service with a pool under load whose servers misbehave, each in a way of its own,
// and with metrics on a loopback port.
type trouble struct {
	*testing.T
	addr string
	rt   *retry.Transport
	auth *peer.Authority
	ctx  context.Context
	wg   sync.WaitGroup
}

func startTrouble(t *testing.T) *trouble {
	auth, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, pool.Config{
		Base:         &http.Transport{TLSClientConfig: &tls.Config{RootCAs: auth.Roots()}, ForceAttemptHTTP2: true},
		ConfirmAfter: 50 * time.Millisecond, MaxConnsPerHost: 3, MaxWait: 400 * time.Millisecond,
	})
	s := &trouble{T: t, auth: auth, ctx: t.Context(), rt: &retry.Transport{Base: p, Budget: &retry.Budget{Floor: 3, Share: 0.01, UnprocessedShare: 0.01}}}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(poolprom.New(p, poolprom.Options{}), poolprom.NewRetry(s.rt, poolprom.Options{}))
	srv := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	s.addr = srv.Listener.Addr().String()
	t.Cleanup(srv.Close)
	s.slow(190 * time.Millisecond) // waits of 0.38 s, of 0.4 s that are allowed
	s.slow(300 * time.Millisecond) // longer ones
	s.forgetful()
	s.restarting()
	s.leaving()
	s.steady()
	s.load(1, 100*time.Millisecond, "GET", "http://127.0.0.1:1/") // nobody listens
	t.Cleanup(s.wg.Wait)                                          // before the servers are closed
	return s
}

// load sends requests in some lanes, with a pause between two of each.
func (s *trouble) load(lanes int, pause time.Duration, method, url string) {
	for range lanes {
		s.wg.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-s.ctx.Done():
					return
				case <-tick.C:
					s.send(method, url)
				}
			}
		})
	}
}

func (s *trouble) send(method, url string) {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("x")
	}
	req, err := http.NewRequestWithContext(s.ctx, method, url, body)
	if err != nil {
		panic(err)
	}
	resp, err := s.rt.RoundTrip(req)
	if err != nil {
		return // it's what the servers are for
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// slow has a server that is asked for more than three connections carry.
func (s *trouble) slow(delay time.Duration) {
	srv := s.start(peer.Faults{Delay: delay})
	s.load(9, 10*time.Millisecond, "GET", "http://"+srv.Addr()+"/")
}

// forgetful has one that closes idle connections before the next request comes.
func (s *trouble) forgetful() {
	srv := s.start(peer.Faults{IdleTimeout: 120 * time.Millisecond})
	s.load(1, 400*time.Millisecond, "GET", "http://"+srv.Addr()+"/")
}

// restarting has one that loses requests again and again.
func (s *trouble) restarting() {
	srv := s.start(peer.Faults{})
	s.load(1, 20*time.Millisecond, "GET", "http://"+srv.Addr()+"/")
	s.load(1, 170*time.Millisecond, "POST", "http://"+srv.Addr()+"/")
	s.wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-s.ctx.Done():
				return
			case <-tick.C:
				srv.SetCut(peer.Cut{At: peer.CutAfter, Next: 2})
			}
		}
	})
}

func (s *trouble) start(f peer.Faults) *peer.Server {
	srv, err := peer.Start(nil, f)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(srv.Close)
	return srv
}

// leaving has one that says GOAWAY with each fifth request.
func (s *trouble) leaving() {
	srv := s.startH2(peer.H2Faults{StreamsPerConn: 5})
	s.load(1, 10*time.Millisecond, "GET", "https://"+srv.Addr()+"/")
}

// steady has one whose connection is asked for signs of life, as its requests come with pauses.
func (s *trouble) steady() {
	srv := s.startH2(peer.H2Faults{MaxStreams: 10})
	s.load(1, 300*time.Millisecond, "POST", "https://"+srv.Addr()+"/")
}

func (s *trouble) startH2(f peer.H2Faults) *peer.H2Server {
	srv, err := peer.StartH2(peer.H2Options{TLS: &tls.Config{Certificates: []tls.Certificate{s.auth.Certificate()}}, Faults: f})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(srv.Close)
	return srv
}
