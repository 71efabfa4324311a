package retry_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A stock is an http.Client over the retry layer over net/http's own transport.
type stock struct {
	*http.Client
	t     *testing.T
	base  *http.Transport
	names *lookups
	conns chan *heldEnd // as they were dialled
}

// newStock makes one that dials by a Guard, or by a dialer alone.
func newStock(t *testing.T, p retry.Policy, guarded bool) *stock {
	t.Helper()
	s := &stock{t: t, names: &lookups{}, conns: make(chan *heldEnd, 8)}
	d := &dialer.Dialer{Resolver: s.names}
	s.base = &http.Transport{DialContext: d.DialContext, TLSClientConfig: &tls.Config{RootCAs: rootPool()}}
	if guarded {
		g, err := pool.NewGuard(pool.GuardConfig{DialContext: s.holdEnds(d.DialContext)})
		if err != nil {
			t.Fatal(err)
		}
		s.base.DialContext = g.DialContext
	}
	t.Cleanup(s.base.CloseIdleConnections)
	s.Client = &http.Client{Transport: &retry.Transport{Base: s.base, Policy: quick(p)}}
	return s
}

// A heldEnd is a connection whose end (a FIN, or the close_notify of TLS 1.3) its reader
// learns of when the test allows it: so it comes at the worst moment.
type heldEnd struct {
	net.Conn
	release, closed chan struct{}
	let, end        sync.Once
}

func (c *heldEnd) letGo() { c.let.Do(func() { close(c.release) }) }

func (s *stock) holdEnds(dial dialer.Hook) dialer.Hook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &heldEnd{Conn: nc, release: make(chan struct{}), closed: make(chan struct{})}
		s.t.Cleanup(c.letGo)
		s.conns <- c
		return c, nil
	}
}

func (c *heldEnd) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if closeNotify := n == 24 && p[0] == 23; closeNotify || n == 0 && err != nil {
		select {
		case <-c.release:
		case <-c.closed:
		}
	}
	return n, err
}

func (c *heldEnd) Close() error {
	c.end.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// send sends a request whose body can be had again, and tells how often it was sent again.
func (s *stock) send(method, url, body string, on *httptrace.ClientTrace) (int, error) {
	s.t.Helper()
	var rep retry.Report
	ctx := retry.WithReport(s.t.Context(), &rep)
	if on != nil {
		ctx = httptrace.WithClientTrace(ctx, on)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.Do(req)
	if err != nil {
		return rep.Retries, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Errorf("answered %d", resp.StatusCode)
	}
	if resp.Request.URL != req.URL {
		s.t.Error("the answer isn't to the caller's request")
	}
	return rep.Retries, err
}

// TestFINBetweenCheckoutAndWrite is what net/http fails a POST for over HTTP/1.1, though it has
// written nothing; the count of bytes shows that, and it's sent again, exactly once.
func TestFINBetweenCheckoutAndWrite(t *testing.T) {
	for _, mode := range []string{"plain", "TLS", "HTTP/2"} {
		t.Run(mode, func(t *testing.T) {
			var executed atomic.Int32
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				executed.Add(1)
			}))
			srv.EnableHTTP2 = mode == "HTTP/2"
			if mode == "plain" {
				srv.Start()
			} else {
				srv.StartTLS()
			}
			defer srv.Close()
			left := 1 // for the retry layer to do
			if srv.EnableHTTP2 {
				left = 0
			}
			if _, err := finAtTheWorstMoment(t, retry.Off(), srv); (err == nil) != (left == 0) || int(executed.Load()) != 2-left {
				t.Errorf("without retries: executed %d times, %v; net/http can do it now", executed.Load(), err)
			}
			executed.Store(0)
			if retries, err := finAtTheWorstMoment(t, retry.Default(), srv); err != nil || retries != left || executed.Load() != 2 {
				t.Errorf("%d retries, executed %d times, %v", retries, executed.Load(), err)
			}
		})
	}
}

// finAtTheWorstMoment sends a POST on a connection which is closed when it has been taken.
func finAtTheWorstMoment(t *testing.T, p retry.Policy, srv *httptest.Server) (retries int, err error) {
	s := newStock(t, p, true)
	s.base.ForceAttemptHTTP2 = srv.EnableHTTP2
	if _, err := s.send("POST", srv.URL, "first", nil); err != nil {
		t.Fatal(err)
	}
	srv.CloseClientConnections()
	c := <-s.conns
	var once sync.Once
	return s.send("POST", srv.URL, "second", &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		once.Do(func() {
			if !info.Reused {
				t.Error("the first connection isn't reused")
			}
			c.letGo()
			<-c.closed // by net/http
		})
	}})
}

// TestFINBehindTheWrite: the same error without that evidence is left to the caller.
func TestFINBehindTheWrite(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, guarded := range []bool{true, false} {
			o := newOrigin(t, secure, []string{serve, cutFIN})
			s := newStock(t, retry.Default(), guarded)
			if _, err := s.send("POST", o.url(), "first", nil); err != nil {
				t.Fatal(err)
			}
			if guarded {
				(<-s.conns).letGo()
			}
			retries, err := s.send("POST", o.url(), "second", nil)
			if err == nil || retries != 0 {
				t.Errorf("TLS %v, guarded %v: %d retries, %v", secure, guarded, retries, err)
			}
			o.wantSeen(seen{method: "POST", body: "first"}, seen{method: "POST", body: "second"})
		}
	}
}

// TestReplayedAndThenRefused: net/http sends a request with an Idempotency-Key again by itself. That
// the dial for it was refused doesn't mean that it wasn't sent before.
func TestReplayedAndThenRefused(t *testing.T) {
	p := retry.Default()
	p.IgnoreIdempotencyKey = true // so that only a proof would do
	for _, script := range [][]string{{serve, cutRST}, {serve, cutFIN}} {
		o := newOrigin(t, false, script)
		s := newStock(t, p, false)
		if _, err := s.send("POST", o.url(), "first", nil); err != nil {
			t.Fatal(err)
		}
		s.names.script = []string{refused, found}
		var rep retry.Report
		req, _ := http.NewRequestWithContext(retry.WithReport(t.Context(), &rep), "POST", o.url(), strings.NewReader("second"))
		req.Header.Set("Idempotency-Key", "1")
		_, err := s.Do(req)
		if _, ok := errors.AsType[*dialer.Error](err); !ok && script[1] == cutRST {
			t.Fatalf("net/http doesn't send it again: %v", err)
		}
		if rep.Retries != 0 {
			t.Errorf("%v: sent again on the ground of %v", script, rep.Errors)
		}
	}
}

// TestDialErrorIsProof: without any connection, as before.
func TestDialErrorIsProof(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		o := newOrigin(t, false)
		s := newStock(t, retry.Default(), guarded)
		s.names.script = []string{refused, noHost}
		if retries, err := s.send("POST", o.url(), "x", nil); err != nil || retries != 2 {
			t.Errorf("guarded %v: %d retries, %v", guarded, retries, err)
		}
	}
}

// A liar calls the trace's hooks for a connection on which it has sent nothing.
type liar struct {
	idle net.Conn
	gots int
	sent int
}

func (l *liar) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Body.Close()
	l.sent++ // on a connection that nobody is told of
	if tr := httptrace.ContextClientTrace(req.Context()); tr != nil {
		for range l.gots {
			tr.GotConn(httptrace.GotConnInfo{Conn: l.idle})
		}
	}
	return nil, io.EOF
}

func TestLiarsAreNotBelieved(t *testing.T) {
	o := newOrigin(t, false)
	g, err := pool.NewGuard(pool.GuardConfig{})
	if err != nil {
		t.Fatal(err)
	}
	idle, err := g.DialContext(t.Context(), "tcp", o.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	for gots := range 3 {
		l := &liar{idle: idle, gots: gots}
		called := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { called++ }})
		req, _ := http.NewRequestWithContext(ctx, "POST", o.url(), strings.NewReader("x"))
		_, err := (&retry.Transport{Base: l, Policy: quick(retry.Default())}).RoundTrip(req)
		if err != io.EOF || l.sent != 1 || called != gots {
			t.Errorf("%d calls of the hook: sent %d times, the caller's hook was called %d times, %v", gots, l.sent, called, err)
		}
	}
}

// TestB10_TraceAndValuesAreKept, also over a stock transport.
func TestB10_TraceAndValuesAreKept(t *testing.T) {
	type key struct{}
	o := newOrigin(t, false)
	s := newStock(t, retry.Default(), true)
	var value any
	s.base.Proxy = func(req *http.Request) (*url.URL, error) {
		value = req.Context().Value(key{})
		return nil, nil
	}
	got := 0
	ctx := httptrace.WithClientTrace(context.WithValue(t.Context(), key{}, 1), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { got++ }})
	req, _ := http.NewRequestWithContext(ctx, "GET", o.url(), nil)
	resp, err := s.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if value != 1 || got != 1 || resp.Request.URL != req.URL {
		t.Errorf("value %v, GotConn called %d times, the answer's request is the caller's: %v", value, got, resp.Request == req)
	}
	(<-s.conns).letGo()
}

// TestABrokenBodyIsLeftAlone: net/http's error doesn't tell it from a broken network.
func TestABrokenBodyIsLeftAlone(t *testing.T) {
	broken := errors.New("broken")
	for _, length := range []int64{0, 10} {
		o := newOrigin(t, false)
		s := newStock(t, retry.Default(), true)
		req, _ := http.NewRequestWithContext(t.Context(), "POST", o.url(), iotest.ErrReader(broken))
		req.ContentLength = length
		req.GetBody = func() (io.ReadCloser, error) {
			t.Errorf("length %d: the body is asked for again", length)
			return nil, broken
		}
		if _, err := s.Do(req); !errors.Is(err, broken) {
			t.Errorf("length %d: %v", length, err)
		}
		(<-s.conns).letGo()
	}
}
