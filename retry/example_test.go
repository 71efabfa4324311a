package retry_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A flaky base can't connect the first time. It stands for a *pool.Transport.
type flaky struct {
	http.RoundTripper
	failed bool
}

func (f *flaky) RoundTrip(req *http.Request) (*http.Response, error) {
	if !f.failed {
		f.failed = true
		return nil, &pool.Error{Phase: pool.PhaseDial, Host: "api.test:443", Err: syscall.ECONNREFUSED}
	}
	return f.RoundTripper.RoundTrip(req)
}

// A POST that could not be sent is sent again, and the report tells of it.
func Example() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
	}))
	defer srv.Close()

	client := &http.Client{Transport: &retry.Transport{Base: &flaky{RoundTripper: http.DefaultTransport}}}

	var report retry.Report
	req, err := http.NewRequest("POST", srv.URL, strings.NewReader(`{"name":"x"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req.WithContext(retry.WithReport(req.Context(), &report)))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	fmt.Println("retries:", report.Retries)
	fmt.Println("refused:", errors.Is(report.Errors[0], syscall.ECONNREFUSED))
	// Output:
	// 201 Created
	// retries: 1
	// refused: true
}

// Decide can be asked without a transport.
func ExamplePolicy_Decide() {
	policy := retry.Default()
	for _, o := range []retry.Outcome{
		{Method: "POST", Phase: pool.PhaseUnsent, BodyReplayable: true},
		{Method: "POST", Phase: pool.PhaseSent, BodyReplayable: true},
		{Method: "POST", Phase: pool.PhaseSent, BodyReplayable: true, Opted: retry.OptInHeader},
		{Method: "GET", Phase: pool.PhaseSent, BodyReplayable: true},
	} {
		v := policy.Decide(o)
		fmt.Println(o.Method, o.Phase, v.Retry, v.Reason)
	}
	// Output:
	// POST unsent true not processed
	// POST sent false may have been executed
	// POST sent true caller opted in
	// GET sent true method is repeatable
}
