package pool_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

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
