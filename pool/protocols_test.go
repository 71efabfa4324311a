package pool

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestProtocols(t *testing.T) {
	protos := func(set ...func(*http.Protocols, bool)) *http.Protocols {
		p := new(http.Protocols)
		for _, f := range set {
			f(p, true)
		}
		return p
	}
	one, two, plain := (*http.Protocols).SetHTTP1, (*http.Protocols).SetHTTP2, (*http.Protocols).SetUnencryptedHTTP2
	offer := func(names ...string) *tls.Config { return &tls.Config{NextProtos: names} }
	off := map[string]func(string, *tls.Conn) http.RoundTripper{}
	for _, tt := range []struct {
		name         string
		base         *http.Transport
		https, plain protocols
		offer        []string
	}{
		{"zero", &http.Transport{}, protocols{true, true}, protocols{true, false}, []string{"h2", "http/1.1"}},
		{"a TLS configuration", &http.Transport{TLSClientConfig: offer()}, protocols{true, true}, protocols{true, false}, []string{"h2", "http/1.1"}},
		{"an offer of the caller's", &http.Transport{TLSClientConfig: offer("http/1.1")}, protocols{true, false}, protocols{true, false}, []string{"http/1.1"}},
		{"the same, forced", &http.Transport{TLSClientConfig: offer("http/1.1"), ForceAttemptHTTP2: true}, protocols{true, true}, protocols{true, false}, []string{"h2", "http/1.1"}},
		{"another protocol", &http.Transport{TLSClientConfig: offer("x", "h2")}, protocols{true, true}, protocols{true, false}, []string{"x", "h2", "http/1.1"}},
		{"net/http's old switch", &http.Transport{TLSNextProto: off}, protocols{true, false}, protocols{true, false}, nil},
		{"the same, forced, as a clone of the default is", &http.Transport{TLSNextProto: off, ForceAttemptHTTP2: true}, protocols{true, false}, protocols{true, false}, nil},
		{"HTTP/1 only", &http.Transport{Protocols: protos(one), TLSClientConfig: offer("h2", "http/1.1")}, protocols{true, false}, protocols{true, false}, []string{"http/1.1"}},
		{"HTTP/2 only", &http.Transport{Protocols: protos(two)}, protocols{false, true}, protocols{}, []string{"h2"}},
		{"prior knowledge", &http.Transport{Protocols: protos(plain)}, protocols{}, protocols{false, true}, nil},
		{"prior knowledge and HTTP/1", &http.Transport{Protocols: protos(plain, one)}, protocols{true, false}, protocols{true, false}, nil},
		{"prior knowledge and HTTP/2", &http.Transport{Protocols: protos(plain, two)}, protocols{false, true}, protocols{false, true}, []string{"h2"}},
	} {
		https, plain := protocolsOf(tt.base)
		if https != tt.https || plain != tt.plain {
			t.Errorf("%s: %+v with https and %+v with http, want %+v and %+v", tt.name, https, plain, tt.https, tt.plain)
		}
		if got := tlsConfig(tt.base, https).NextProtos; !slices.Equal(got, tt.offer) {
			t.Errorf("%s: the offer is %q, want %q", tt.name, got, tt.offer)
		}
	}
}

func TestTLSConfigIsACopy(t *testing.T) {
	base := &http.Transport{TLSClientConfig: &tls.Config{NextProtos: []string{"h2", "http/1.1"}}}
	if got := tlsConfig(base, protocols{http1: true}).NextProtos; len(got) != 1 {
		t.Errorf("the offer is %q", got)
	}
	if len(base.TLSClientConfig.NextProtos) != 2 {
		t.Error("the caller's configuration was changed")
	}
}

// echoServer speaks HTTP/2, and echoes what comes after an Upgrade.
func echoServer(t *testing.T) *httptest.Server {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			io.WriteString(w, r.Proto)
			return
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		rw.Flush()
		io.Copy(c, rw)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// Upgrades and HTTP/2 requests at the same time: both get on, within one limit.
func TestUpgradesAndHTTP2ShareTheLimit(t *testing.T) {
	srv := echoServer(t)
	for _, limit := range []int64{1, 3} {
		for try := 1; ; try++ {
			most, left := upgradesAndHTTP2(t, srv, int(limit))
			if most <= limit && left == 0 {
				break
			}
			// A dial hook's HTTP/2 connection has 50 ms to close before its slot is free. Where
			// these aren't enough the machine is too busy to tell.
			if try == 3 {
				t.Errorf("%d connections at a time, %d at the end, want %d and 0", most, left, limit)
				break
			}
		}
	}
}

func upgradesAndHTTP2(t *testing.T, srv *httptest.Server, limit int) (peak, left int64) {
	var open, most atomic.Int64
	base := &http.Transport{TLSClientConfig: srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()}
	base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n := open.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			open.Add(-1)
			return nil, err
		}
		return &countedConn{Conn: c, open: &open}, nil
	}
	tr, err := New(Config{Base: base, MaxConnsPerHost: limit})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 25 {
				if i%2 == 0 {
					wantProto(t, tr, srv.URL, "HTTP/2.0")
				} else {
					wantEcho(t, tr, srv.URL)
				}
			}
		})
	}
	wg.Wait()
	tr.Close()
	return most.Load(), open.Load()
}

// HTTP/2 can't carry an Upgrade: on a host that speaks it, such a request gets HTTP/1.
func TestUpgradeOnAnHTTP2Host(t *testing.T) {
	srv := echoServer(t)
	for _, first := range []string{"", "x"} { // the host's protocol is known, or isn't
		tr, err := New(Config{Base: &http.Transport{TLSClientConfig: srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()}, MaxConnsPerHost: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		upgrade := first
		for range 3 {
			if upgrade == "" {
				wantProto(t, tr, srv.URL, "HTTP/2.0")
				upgrade = "x"
			} else {
				wantEcho(t, tr, srv.URL)
				upgrade = ""
			}
		}
	}
}

func wantProto(t *testing.T, tr *Transport, url, want string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != want || resp.Proto != want {
		t.Errorf("answer %q by %s (%v), want %s", b, resp.Proto, err, want)
	}
}

func wantEcho(t *testing.T, tr *Transport, url string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	req.Header = http.Header{"Upgrade": {"x"}, "Connection": {"Upgrade"}}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	rw, ok := resp.Body.(io.ReadWriter)
	if !ok || resp.StatusCode != 101 {
		t.Fatalf("status %d, body %T", resp.StatusCode, resp.Body)
	}
	got := make([]byte, 5)
	if _, err := rw.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(rw, got); err != nil || string(got) != "hello" {
		t.Errorf("echo %q, %v", got, err)
	}
}
