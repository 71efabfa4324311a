package scenario

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A fickle origin does what comes to its mind with each request, and notes what it has executed.
type fickle struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	executed map[string]int // by id and path: whole requests that the application has seen
}

func newFickle(t *testing.T, secure, h2 bool) *fickle {
	m := &fickle{t: t, executed: make(map[string]int)}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(m.serve))
	m.EnableHTTP2, m.Config.ErrorLog = h2, log.New(io.Discard, "", 0) // of the handshakes that it breaks
	if !secure {
		m.Start()
	} else {
		m.TLS = &tls.Config{Certificates: []tls.Certificate{identity().cert}}
		m.StartTLS()
	}
	t.Cleanup(m.Close)
	return m
}

func (m *fickle) count(key string) int { m.mu.Lock(); defer m.mu.Unlock(); return m.executed[key] }

func (m *fickle) serve(w http.ResponseWriter, r *http.Request) {
	mood := rand.IntN(12)
	switch mood {
	case 0:
		panic(http.ErrAbortHandler) // nothing was read
	case 1:
		io.CopyN(io.Discard, r.Body, 3)
		panic(http.ErrAbortHandler)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if want := r.Header.Get(bodyHeader); string(b) != want {
		m.t.Errorf("%s %s: %d bytes arrived whole, the body has %d", r.Method, r.URL.Path, len(b), len(want))
	}
	m.mu.Lock()
	m.executed[r.Header.Get(idHeader)+r.URL.Path]++
	m.mu.Unlock()
	switch mood {
	case 2:
		panic(http.ErrAbortHandler)
	case 3:
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "the beginning")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case 4:
		if len(r.URL.Path) < 5 {
			http.Redirect(w, r, r.URL.Path+"b", 307+rand.IntN(2))
		}
	case 5:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	case 6:
		m.CloseClientConnections()
	case 7:
		http.SetCookie(w, &http.Cookie{Name: "mood", Value: "7"})
	}
	io.WriteString(w, "answer")
}

// fickleBases are Bases of all kinds.
func fickleBases(t *testing.T, h2 bool) map[string]http.RoundTripper {
	stock := func() *http.Transport {
		s := &http.Transport{TLSClientConfig: clientTLS(""), ForceAttemptHTTP2: h2}
		t.Cleanup(s.CloseIdleConnections)
		return s
	}
	pooled := func(cfg pool.Config) *pool.Transport {
		cfg.Base = stock()
		p, err := pool.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	g, err := pool.NewGuard(pool.GuardConfig{TLSClientConfig: func() *tls.Config {
		c := clientTLS("")
		if h2 {
			c.NextProtos = []string{"h2", "http/1.1"}
		}
		return c
	}()})
	if err != nil {
		t.Fatal(err)
	}
	guarded, guardedTLS, xnet, limited := stock(), stock(), stock(), stock()
	guarded.DialContext = g.DialContext
	guardedTLS.DialContext, guardedTLS.DialTLSContext = g.DialContext, g.DialTLSContext
	xnet.DialContext = g.DialContext
	if h2 {
		//lint:ignore SA1019 those who have it still use it
		if err := http2.ConfigureTransport(xnet); err != nil {
			t.Fatal(err)
		}
	}
	limited.DialContext, limited.MaxConnsPerHost = g.DialContext, 2
	return map[string]http.RoundTripper{
		"pool": pooled(pool.Config{}), "pool, confirming": pooled(pool.Config{ConfirmAfter: 1}), "limited pool": pooled(pool.Config{MaxConnsPerHost: 2}),
		"net/http": stock(), "guarded": guarded, "guarded TLS": guardedTLS, "guarded, x/net": xnet, "guarded, limited": limited,
	}
}

// TestNothingIsExecutedTwiceByAnyFront: requests of all kinds, by an http.Client that follows redirects
// or straight, over a pool or a stock transport with what it may have, to an origin that closes, resets,
// redirects and refuses at random.
func TestNothingIsExecutedTwiceByAnyFront(t *testing.T) {
	for _, mode := range []string{"plain", "TLS", "HTTP/2"} {
		m := newFickle(t, mode != "plain", mode == "HTTP/2")
		for name, base := range fickleBases(t, mode == "HTTP/2") {
			t.Run(mode+" "+name, func(t *testing.T) { fickleCalls(t, m, base, 18) })
		}
	}
}

func fickleCalls(t *testing.T, m *fickle, base http.RoundTripper, n int) {
	p := retry.Default()
	p.Backoff = func(int) time.Duration { return 0 }
	p.ResendHeadOnly, p.RetryStatuses = true, []int{503}
	p.AttemptTimeout = 10 * time.Second
	tr := &retry.Transport{Base: base, Policy: p, Budget: &retry.Budget{Floor: 1e6, Part: 1}}
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Transport: tr, Timeout: 20 * time.Second, Jar: jar}
	together(6, func(int) {
		for range n / 6 {
			c, do := fickleCall(m), tr.RoundTrip
			withClient := rand.IntN(2) == 0
			if withClient {
				do = client.Do
			}
			resp, err := do(c.Request)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			m.check(c, err, !withClient)
			if c.body != nil && !withClient && !within(10*time.Second, func() bool { return c.body.closes.Load() == 1 }) {
				t.Errorf("%s: the body was closed %d times: %v", c.Method, c.body.closes.Load(), err)
			}
		}
	})
}

// check compares what became of a call with what its caller is told, which is about the last hop only
// if the call was redirected.
func (m *fickle) check(c *call, err error, oneHop bool) {
	sum := 0
	for path := "/a"; len(path) < 8; path += "b" {
		n := m.count(c.id + path)
		if sum += n; n > 1 && c.Method != "GET" {
			m.t.Errorf("%s %s%s was executed %d times: %v", c.Method, c.id, path, n, err)
		}
	}
	if e, ok := errors.AsType[*retry.Error](err); ok && e.Unprocessed() && oneHop && sum > 0 {
		m.t.Errorf("%s %s was executed, and is unprocessed: %v", c.Method, c.id, err)
	}
	if errors.Is(err, context.Canceled) {
		m.t.Errorf("nobody has cancelled: %v", err)
	}
}

// fickleCall is a request of any kind.
func fickleCall(m *fickle) *call {
	methods := []string{"GET", "POST", "PUT", "DELETE", "PATCH"}
	c := newCall(context.Background(), methods[rand.IntN(len(methods))], m.URL+"/a", bodyKinds[rand.IntN(len(bodyKinds))])
	switch rand.IntN(4) {
	case 0:
		c.Header.Set("Expect", "100-continue")
	case 1:
		if c.Body != nil && c.GetBody == nil {
			c.ContentLength = -1
			c.Trailer = http.Header{"X-End": {"1"}}
		}
	}
	return c
}
