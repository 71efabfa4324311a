package main

import (
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"

	"example.com/connwise/bench"
)

// retryableHTTP and failsafeGo have no connections of their own: both are put around the same
// Transport, so that what differs is how they send again.

// retryableHTTP has its defaults but for the log, which would be a line for each request.
func retryableHTTP() bench.Client {
	return bench.Client{
		Name:   "go-retryablehttp",
		Module: "github.com/hashicorp/go-retryablehttp",
		Note:   "github.com/hashicorp/go-retryablehttp: NewClient's RoundTripper over net/http with IdleConnTimeout below the server's, without its log; its defaults are 4 retries after 1, 2, 4 and 8 s, of any method after any failure of a connection, and of a 429 or 5xx: a POST may be executed twice",
		New: func(s bench.Setup) (http.RoundTripper, error) {
			base := timely(s)
			c := retryablehttp.NewClient()
			c.HTTPClient.Transport = base
			c.Logger = nil
			if s.Target {
				c.RetryMax = 0
			}
			return around{&retryablehttp.RoundTripper{Client: c}, base}, nil
		},
	}
}

// failsafeGo has the retry policy of its page on HTTP, word for word.
func failsafeGo() bench.Client {
	return bench.Client{
		Name:   "failsafe-go",
		Module: "github.com/failsafe-go/failsafe-go",
		Note:   "github.com/failsafe-go/failsafe-go: failsafehttp.NewRoundTripper over net/http with IdleConnTimeout below the server's and the policy of its page on HTTP, NewRetryPolicyBuilder().WithBackoff(1 s, 30 s).WithMaxRetries(3): any method after any failure of a connection, and after a 429 or 5xx: a POST may be executed twice",
		New: func(s bench.Setup) (http.RoundTripper, error) {
			base := timely(s)
			if s.Target {
				return base, nil // without a policy nothing of it is left
			}
			policy := failsafehttp.NewRetryPolicyBuilder().WithBackoff(time.Second, 30*time.Second).WithMaxRetries(3).Build()
			return around{failsafehttp.NewRoundTripper(base, policy), base}, nil
		},
	}
}
