package pool_test

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

// A service that keeps its http.Transport has it dial by a Guard, and puts retry on top.
func ExampleGuard() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer srv.Close()

	guard, err := pool.NewGuard(pool.GuardConfig{
		ProxyIdleTimeout: 60 * time.Second, // what the proxy uses
		MaxConnsPerHost:  100,
		MaxWait:          2 * time.Second,
	})
	if err != nil {
		panic(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = guard.DialContext
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: &retry.Transport{Base: transport}}

	resp, err := client.Post(srv.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	for _, h := range guard.Stats().Hosts {
		fmt.Println(h.Open, "open, idle limit", h.IdleLimit, h.IdleLimitSource)
	}
	// Output:
	// hello <nil>
	// 1 open, idle limit 55s configured
}
