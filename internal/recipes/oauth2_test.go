package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// newAPIClient returns a client whose requests carry a token that conf fetches. The layers, from the
// top: http.Client, oauth2.Transport, retry.Transport, pool.Transport.
//
// oauth2 goes above retry, so that retry has the pool itself as its Base, and judges each
// request by its own failure. The other way round an oauth2.Transport fails with the error of
// the token's POST, and that would be judged, and sent again, as if it were the caller's GET.
//
// ctx is for all tokens: it has to live as long as the client. As it has no deadline and one
// fetch of a token holds up all calls, base should have a ResponseHeaderTimeout.
func newAPIClient(ctx context.Context, conf *clientcredentials.Config, base http.RoundTripper) *http.Client {
	// Both the token's requests and the API's take their transport from here.
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: base})
	// A second token does no harm with client credentials, so a lost answer may be asked for
	// again. Don't say so of an authorization code, which is valid once, nor of a refresh token
	// that the server rotates: one that comes twice is taken for stolen (RFC 9700 section 4.14).
	return conf.Client(retry.WithIdempotent(ctx))
}

// The token's POST is sent again by the same rules as any other, and so is the API's request,
// with the token that it has.
func Example_oauth2() {
	tokens := newTokenServer()
	defer tokens.Close()
	api := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer api.Close()
	p, err := pool.New(pool.Config{Base: &http.Transport{
		ResponseHeaderTimeout: 5 * time.Second,
		DialContext:           refusedAtFirst(), // for this example; else leave it nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := newAPIClient(context.Background(), &clientcredentials.Config{
		ClientID:     "id",
		ClientSecret: "secret",
		TokenURL:     tokens.URL,
		AuthStyle:    oauth2.AuthStyleInHeader, // else oauth2 tries both
	}, &retry.Transport{Base: p})

	var report retry.Report // of the API's request; the token's are apart
	req, err := http.NewRequestWithContext(retry.WithReport(context.Background(), &report), "GET", api.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	fmt.Println("retries:", report.Retries)
	// Output:
	// Bearer token-1 <nil>
	// retries: 1
}

// TestOrderOfLayers: with retry on top of oauth2 a token's POST that may have been executed is
// sent again because the call is a GET; below it is not.
func TestOrderOfLayers(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, tc := range []struct {
		name   string
		layers func(tokens oauth2.TokenSource) http.RoundTripper
		base   http.RoundTripper // for the tokens
		want   int32
	}{
		{"oauth2 over retry", func(s oauth2.TokenSource) http.RoundTripper {
			return &oauth2.Transport{Source: s, Base: &retry.Transport{Base: p}}
		}, &retry.Transport{Base: p}, 1},
		{"retry over oauth2", func(s oauth2.TokenSource) http.RoundTripper {
			return &retry.Transport{Base: &oauth2.Transport{Source: s, Base: p}}
		}, p, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var posts atomic.Int32
			tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				posts.Add(1)
				panic(http.ErrAbortHandler)
			}))
			defer tokens.Close()
			conf := &clientcredentials.Config{ClientID: "id", TokenURL: tokens.URL, AuthStyle: oauth2.AuthStyleInParams}
			ctx := context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: tc.base})
			client := &http.Client{Transport: tc.layers(conf.TokenSource(ctx))}
			resp, err := client.Get(api.URL)
			if err == nil {
				resp.Body.Close()
				t.Fatal("answered without a token")
			}
			if e, ok := errors.AsType[*pool.Error](err); !ok || e.Phase != pool.PhaseSent {
				t.Errorf("failed with %v, want a *pool.Error of phase sent", err)
			}
			if n := posts.Load(); n != tc.want {
				t.Errorf("the token endpoint got %d POSTs, want %d", n, tc.want)
			}
		})
	}
}

func newTokenServer() *httptest.Server {
	given := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, secret, ok := r.BasicAuth(); !ok || id != "id" || secret != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		given++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, given)
	}))
}
