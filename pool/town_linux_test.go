package pool

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/connwise/dialer"
)

// A town is a name with several addresses, 127.45.0.N, on one port. A server says its N in
// the header X-Host.
type town struct {
	t    *testing.T
	port string

	mu    sync.Mutex
	dials map[string]int // by address
	addrs []string       // what the name resolves to
}

func newTown(t *testing.T, hosts ...int) *town {
	t.Helper()
	l, err := net.Listen("tcp", "127.45.0.9:0") // held, so that no other town has the port; the network is its own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	tn := &town{t: t, port: port, dials: make(map[string]int)}
	for _, n := range hosts {
		tn.addrs = append(tn.addrs, fmt.Sprintf("127.45.0.%d", n))
	}
	return tn
}

func (tn *town) addr(n int) string { return fmt.Sprintf("127.45.0.%d:%s", n, tn.port) }

// A doing is what a server does with a request, as http.Handler does; nil: it answers.
type doing = http.HandlerFunc

// serve starts the server of host n. before may change it.
func (tn *town) serve(n int, do doing, before ...func(*httptest.Server)) *httptest.Server {
	tn.t.Helper()
	l, err := net.Listen("tcp", tn.addr(n))
	if err != nil {
		tn.t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do != nil {
			do(w, r)
		}
		w.Header().Set("X-Host", fmt.Sprint(n))
	}))
	srv.Listener.Close()
	srv.Listener = l
	for _, f := range before {
		f(srv)
	}
	if srv.URL == "" {
		srv.Start()
	}
	tn.t.Cleanup(srv.Close)
	return srv
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func (tn *town) LookupHost(context.Context, string) ([]string, error) {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return tn.addrs, nil
}

// control counts.
func (tn *town) control(_, addr string, _ syscall.RawConn) error {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	tn.dials[addr]++
	return nil
}

// dialled is how often host n was dialled.
func (tn *town) dialled(n int) int {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	return tn.dials[tn.addr(n)]
}

func (tn *town) pool(cfg Config) *Transport {
	tn.t.Helper()
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	cfg.Dialer = &dialer.Dialer{Resolver: tn, Control: tn.control}
	tr, err := New(cfg)
	if err != nil {
		tn.t.Fatal(err)
	}
	tn.t.Cleanup(func() { tr.Close() })
	return tr
}

// ask sends a GET that avoids these hosts, and returns the number of the one that has answered.
// The connection isn't given back before release is called.
func (tn *town) ask(tr *Transport, avoid ...int) (n string, release func(), err error) {
	tn.t.Helper()
	ctx := tn.t.Context()
	for _, a := range avoid {
		ctx = AvoidAddr(ctx, tn.addr(a))
	}
	scheme := "http"
	if tr.set.tls != nil && tr.set.tls.RootCAs != nil {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, "GET", scheme+"://example.com:"+tn.port+"/", nil)
	if err != nil {
		tn.t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", nil, err
	}
	return resp.Header.Get("X-Host"), func() { io.Copy(io.Discard, resp.Body); resp.Body.Close() }, nil
}

// get is ask with the connection given back at once.
func (tn *town) get(tr *Transport, avoid ...int) string {
	tn.t.Helper()
	n, release, err := tn.ask(tr, avoid...)
	if err != nil {
		tn.t.Fatal(err)
	}
	release()
	return strings.TrimSpace(n)
}
