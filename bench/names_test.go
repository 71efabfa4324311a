package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/connwise/internal/peer"
)

func TestNamesAreResolved(t *testing.T) {
	other := netip.MustParseAddr("127.0.0.9")
	ended := false
	n := &names{addrs: inTurns(loopback, other), end: func() { ended = true }}
	r := n.resolver()
	for i, want := range [][]string{{"127.0.0.1", "127.0.0.9"}, {"127.0.0.9", "127.0.0.1"}, {"127.0.0.1", "127.0.0.9"}} {
		// ip4 makes it one query; with AAAA beside it the turns would go by twos.
		got, err := r.LookupNetIP(t.Context(), "ip4", "a."+peer.Domain)
		if err != nil {
			t.Fatal(err)
		}
		if s := namesOf(got, func(a netip.Addr) string { return a.String() }); !slices.Equal(s, want) {
			t.Errorf("lookup %d gives %v, want %v", i, s, want)
		}
	}
	_, err := r.LookupHost(t.Context(), "a.example.invalid")
	if e, ok := errors.AsType[*net.DNSError](err); !ok || !e.IsNotFound {
		t.Errorf("a foreign name gives %v, want that there is none", err)
	}
	n.close()
	if !ended {
		t.Error("end wasn't called")
	}
}

// TestManyLookupsAtOnce asks for more than the buffer of a socket would hold.
func TestManyLookupsAtOnce(t *testing.T) {
	n := new(names)
	r := n.resolver()
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			if got, err := r.LookupHost(context.Background(), "a."+peer.Domain); err != nil || !slices.Equal(got, []string{"127.0.0.1"}) {
				t.Errorf("lookup: %v, %v", got, err)
			}
		})
	}
	wg.Wait()
	n.close()
}

// TestNamesOverTLS calls a peer by two names, as each client does it that takes what
// Setup has.
func TestNamesOverTLS(t *testing.T) {
	a, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := peer.Start(a, peer.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	n := &names{hosts: []string{"a." + peer.Domain, "b." + peer.Domain}}
	defer n.close()
	for _, c := range []Client{Connwise(), NetHTTP()} {
		client, err := c.build(Setup{Proto: "h1s", Callers: 1, Roots: a.Roots(), Resolver: n.resolver()})
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range n.urls(&url.URL{Scheme: "https", Host: srv.Addr(), Path: "/"}) {
			if !strings.HasPrefix(u.Host, n.hosts[i]+":") {
				t.Errorf("URL %d is %v", i, u)
			}
			get(t, client.(http.RoundTripper), u.String())
		}
		if err := closeClient(client); err != nil {
			t.Error(err)
		}
	}
	if got := srv.Report(); got.Requests != 4 || got.Accepted != 4 {
		t.Errorf("%d requests on %d connections, want 4 on 4: two clients, two names", got.Requests, got.Accepted)
	}
}

func get(t *testing.T, rt http.RoundTripper, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}
