package bench

import (
	"net/http"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// ConnwiseConfirming is Connwise with a sign of life before each call that may not be sent
// twice, which takes a round trip: what can be had against a proxy that reloads at any moment.
// It is in the rows of restart over HTTP/1.1. Over HTTP/2 a GOAWAY does without.
func ConnwiseConfirming() Client {
	return Client{
		Name: "connwise+confirm",
		Note: "connwise with pool.Config.ConfirmAfter = 1 ns (Expect: 100-continue before each POST's body) and retry.Policy.ResendHeadOnly; in restart over HTTP/1.1",
		Has:  func(scenario, proto string) bool { return scenario == "restart" && !protoNamed(proto).h2 },
		New: func(s Setup) (http.RoundTripper, error) {
			p, err := pool.New(pool.Config{
				Base: s.Transport(), ProxyIdleTimeout: s.IdleTimeout, MaxWait: s.MaxWait, MinIdlePerHost: s.Ready,
				ConfirmAfter: time.Nanosecond,
			})
			if err != nil {
				return nil, err
			}
			policy := retry.Default()
			policy.ResendHeadOnly = true
			return &connwise{Transport: &retry.Transport{Base: p, Policy: policy}, pool: p}, nil
		},
	}
}
