package pool

import (
	"context"
	"errors"
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

// Forty workers with random deadlines, methods and manners over a limit of two: at every
// point of a request's walk some of them are cancelled. Afterwards a plain request goes
// through at once, there were never more connections than the limit, and the books balance.
func TestSlotsComeBackWhateverHappens(t *testing.T) {
	const limit, workers, each = 2, 40, 50
	var open, most atomic.Int64 // connections, from the dial to Close
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/close":
			w.Header().Set("Connection", "close")
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/large":
			io.WriteString(w, strings.Repeat("x", 300<<10))
		}
		io.WriteString(w, "ok")
	}))
	defer srv.Close()

	base := srv.Client().Transport.(*http.Transport).Clone()
	base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n := open.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			open.Add(-1)
			return nil, err
		}
		return &countedConn{Conn: nc, open: &open}, nil
	}
	var r told
	tr, err := New(Config{Base: base, MaxConnsPerHost: limit, MaxWait: 50 * time.Millisecond, Trace: r.trace()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	paths := []string{"/", "/", "/close", "/abort", "/large"}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for range each {
				oneOf(t, tr, r, srv.URL+paths[r.IntN(len(paths))])
			}
		})
	}
	wg.Wait()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatalf("a plain request afterwards: %v", err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()

	tr.Close()
	s := &script{T: t, tr: tr}
	s.wantAtRest()
	r.settledBooks(t, tr)
	// A hook that goes on for 50 ms after its dial was cut, or a Close of its connection that
	// takes so long, isn't waited for: on a busy machine there may be one for a moment.
	if n := most.Load(); n > limit+1 || open.Load() != 0 {
		t.Errorf("%d connections at a time, %d at the end, want %d and 0", n, open.Load(), limit)
	}
}

type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.open.Add(-1) })
	return err
}

// oneOf makes a request in one of many ways. Any error must be an *Error.
func oneOf(t *testing.T, tr *Transport, r *rand.Rand, url string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.IntN(2) == 0 {
		var c context.CancelFunc
		ctx, c = context.WithTimeout(ctx, time.Duration(r.IntN(4000))*time.Microsecond)
		defer c()
	}
	method, body := "GET", io.Reader(nil)
	switch r.IntN(3) {
	case 0:
		method, body = "POST", strings.NewReader("payload")
	case 1:
		method, body = "PUT", io.MultiReader(strings.NewReader(strings.Repeat("p", r.IntN(100_000))))
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("a bare error: %T %v", err, err)
		}
		return
	}
	switch r.IntN(3) {
	case 0:
		io.Copy(io.Discard, resp.Body)
	case 1:
		io.CopyN(io.Discard, resp.Body, 1)
	}
	if r.IntN(10) > 0 {
		resp.Body.Close() // else the context's end has to do
	}
}
