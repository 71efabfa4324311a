package retry_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// An http.Transport that is to stay dials by a pool.Guard. Its connections count the bytes that
// they accept: that is how a POST that was never sent can be told from one that may have run.
func Example_guard() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer srv.Close()

	guard, err := pool.NewGuard(pool.GuardConfig{
		ProxyIdleTimeout: 60 * time.Second, // what the proxy uses
		DialContext:      refusedAtFirst(), // for this example; else leave it nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = guard.DialContext
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: &retry.Transport{Base: transport}} // nothing in between

	resp, err := client.Post(srv.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	if report := retry.ReportOf(resp); report != nil { // nil: answered at once
		fmt.Println("retries:", report.Retries, "after", report.Attempts[0].Evidence)
	}
	// Output:
	// hello <nil>
	// retries: 1 after never sent
}
