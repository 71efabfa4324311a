package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// post sends what may be said of one call in its context.
func post(ctx context.Context, client *http.Client, url string) (status string, err error) {
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader("a spoon"))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Status, err
}

// A write that is idempotent by contract is sent again although it may have been executed.
func ExampleWithIdempotent() {
	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}

	fmt.Println(post(retry.WithIdempotent(context.Background()), client, srv.URL))
	// Output: 201 Created <nil>
}

// One call that has better things to do than to wait for another attempt.
func ExampleWithPolicy() {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	p, err := pool.New(pool.Config{Base: &http.Transport{DialContext: refusedAtFirst()}}) // or pool.Config{}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}

	_, err = post(retry.WithPolicy(context.Background(), retry.Off()), client, srv.URL)
	if e, ok := errors.AsType[*pool.Error](err); ok {
		fmt.Println("failed:", e.Phase, "may be sent again:", e.Unprocessed())
	}
	// Output: failed: dial may be sent again: true
}

// One slow call among quick ones gets a read timeout of its own. As a longer one it also
// counts as a sign that a repeat would take too long: what may have been sent isn't sent again.
func Example_readTimeout() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(150 * time.Millisecond) // a report takes time
		w.WriteHeader(http.StatusCreated)
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{Base: &http.Transport{ResponseHeaderTimeout: 100 * time.Millisecond}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}

	_, err = post(context.Background(), client, srv.URL)
	if e, ok := errors.AsType[*pool.Error](err); ok {
		fmt.Println("timeout:", e.Timeout(), "phase:", e.Phase)
	}
	fmt.Println(post(pool.WithReadTimeout(context.Background(), 30*time.Second), client, srv.URL))
	// Output:
	// timeout: true phase: sent
	// 201 Created <nil>
}
