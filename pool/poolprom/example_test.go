package poolprom_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/connwise/pool"
	"example.com/connwise/pool/poolprom"
	"example.com/connwise/retry"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A service shows its pool and its retries at /metrics.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer api.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	rt := &retry.Transport{Base: p}
	client := &http.Client{Transport: rt}

	reg := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	reg.MustRegister(
		poolprom.New(p, poolprom.Options{}),
		poolprom.NewRetry(rt, poolprom.Options{}),
	)
	metrics := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})

	for range 3 {
		resp, err := client.Get(api.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	w := httptest.NewRecorder()
	metrics.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, _ := io.ReadAll(w.Body)
	for line := range strings.Lines(strings.ReplaceAll(string(text), api.Listener.Addr().String(), "api:80")) {
		if strings.HasPrefix(line, "connwise_pool_requests_total") || strings.HasPrefix(line, "connwise_retry_absorbed") {
			fmt.Print(line)
		}
	}
	// Output:
	// connwise_pool_requests_total{connection="new",host="api:80",proxy="",scheme="http"} 1
	// connwise_pool_requests_total{connection="reused",host="api:80",proxy="",scheme="http"} 2
	// connwise_retry_absorbed_calls_total 0
}
