//go:build proxies && unix

package benchproxy

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"example.com/connwise/bench"
	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
)

// A front's address, which is a relay's here, and its roots lead to the peer, and a reload
// lets go of connections, if not at once.
func TestAReloadLetsGoOfConnections(t *testing.T) {
	for _, name := range smoked {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFront(t, installed(t, name))
			rt := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.Roots()}}
			defer rt.CloseIdleConnections()
			if reused(t, rt, f.Addr()) || !reused(t, rt, f.Addr()) {
				t.Fatal("the second request has not reused the first one's connection")
			}
			if err := f.Reload(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(frontproxy.StartTime); reused(t, rt, f.Addr()); {
				if time.Now().After(deadline) {
					t.Fatal("the connection is used still")
				}
			}
		})
	}
}

// startFront starts one over TLS, with a relay, that ends with the test.
func startFront(t *testing.T, x bench.Proxy) bench.Front {
	t.Helper()
	s, err := peer.Start(nil, peer.Faults{BodySize: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	f, err := x.Start(bench.ProxySetup{Origin: s.Addr(), Proto: "h1s", IdleTimeout: time.Minute, Delay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// reused makes a request, and tells whether it went over a connection that was there.
func reused(t *testing.T, rt http.RoundTripper, addr string) (reused bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), frontproxy.StartTime)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(peer.HeaderID, "1")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Header.Get(peer.HeaderID) != "1" {
		t.Fatalf("answer to %q, %v", resp.Header.Get(peer.HeaderID), err)
	}
	return reused
}
