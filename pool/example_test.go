package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

func Example() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()

	p, err := pool.New(pool.Config{ProxyIdleTimeout: 60 * time.Second}) // what the proxy uses
	if err != nil {
		panic(err)
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}
	resp, err := client.Get(srv.URL)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output: hello <nil>
}

// Connections that are ready before the first request, and limits for what comes.
func ExampleTransport_Warm() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()

	p, err := pool.New(pool.Config{
		MaxConnsPerHost: 100,             // HTTP/1.1 and HTTP/2 alike; exact
		MaxWait:         2 * time.Second, // then ErrWaitTimeout: the request is provably unsent
		MaxWaiters:      500,             // one more gets ErrTooManyWaiters at once
		MinIdlePerHost:  20,              // kept ready in the background
		MaxConnAge:      10 * time.Minute,
		Hosts: map[string]pool.HostConfig{ // what is left out there is as above
			"slow.example:443": {MaxConnsPerHost: 10, MinIdlePerHost: 5},
		},
		Dialer: &dialer.Dialer{Resolver: &dialer.CachingResolver{}},
	})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	err = p.Warm(context.Background(), srv.URL, 20)
	fmt.Println(p.Stats().Hosts[0].Idle, err)
	// Output: 20 <nil>
}

// What a failure says doesn't have to be read from its text.
func ExampleError() {
	p, err := pool.New(pool.Config{})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	req, _ := http.NewRequest("POST", "http://127.0.0.1:1/", nil) // nobody listens there
	_, err = p.RoundTrip(req)
	if e, ok := errors.AsType[*pool.Error](err); ok {
		fmt.Println(e.Phase, e.Phase.Unprocessed(), e.Sent)
	}
	// Output: dial true 0
}
