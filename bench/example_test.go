package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/connwise/bench"
)

// A client of one's own beside net/http. The program's main has to look at
// bench.IsChild first, see the package comment.
func ExampleRun() {
	mine := bench.Client{
		Name: "mine",
		Note: "net/http without keep-alive",
		New: func(s bench.Setup) (http.RoundTripper, error) {
			t := s.Transport()
			t.DisableKeepAlives = true
			return t, nil
		},
	}
	rep, err := bench.Run(context.Background(), bench.Options{
		Clients:   []bench.Client{mine, bench.NetHTTP()},
		Scenarios: []string{"steady"},
		Protos:    []string{"h1"},
		Workers:   2,
		Duration:  50 * time.Millisecond,
		Rounds:    1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rep.Results {
		fmt.Println(r.Client, "failed:", r.Failed, "a connection for each call:", *r.Dials == r.Requests)
	}
	// Output:
	// mine failed: 0 a connection for each call: true
	// net/http failed: 0 a connection for each call: false
}
