package retry_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A POST that could not be sent is sent again, and the report tells of it.
func Example() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
	}))
	defer srv.Close()

	p, err := pool.New(pool.Config{Base: &http.Transport{DialContext: refusedAtFirst()}}) // or pool.Config{}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}

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
	if e, ok := errors.AsType[*pool.Error](report.Errors[0]); ok {
		fmt.Println("failed at first:", e.Phase)
	}
	// Output:
	// 201 Created
	// retries: 1
	// failed at first: dial
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
