package retry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// fetch gives a call its deadline by the context: with http.Client.Timeout, net/http would put
// a text of its own in the place of an error that says how far the request got.
func fetch(ctx context.Context, client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// A service makes one pool, puts retry on it and an http.Client on top, and shares that among
// all its calls.
func Example_httpClient() {
	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()

	p, err := pool.New(pool.Config{ProxyIdleTimeout: 60 * time.Second}) // what the proxy uses
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}

	var report retry.Report // of one call; not needed for it
	body, err := fetch(retry.WithReport(context.Background(), &report), client, srv.URL)
	fmt.Println(body, err)
	fmt.Println("retries:", report.Retries)
	// Output:
	// hello <nil>
	// retries: 1
}
