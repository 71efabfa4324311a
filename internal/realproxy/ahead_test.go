//go:build proxies && unix

package realproxy

import (
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// capacityTime is for how long the tests of capacity send: CONNWISE_CAPACITY_TIME, 10 s by default;
// those without a lesson half of it.
var capacityTime = sync.OnceValue(func() time.Duration { return envDuration("CONNWISE_CAPACITY_TIME", 10*time.Second) })

// An aheadTrace notes when a request got a connection that wasn't there before it came, but had
// to be dialled. With oneShot it takes the means from requests to send their bodies again.
type aheadTrace struct {
	base    http.RoundTripper
	oneShot bool

	mu     sync.Mutex
	waited []time.Time
}

// RoundTrip sends the request by the base.
func (a *aheadTrace) RoundTrip(req *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.waited = append(a.waited, time.Now())
		}
	}}
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace)) // a copy
	if a.oneShot {
		req.GetBody = nil
	}
	return a.base.RoundTrip(req)
}

// waitedSince is how many requests had to wait for a dial, but for those that did when this machine
// had just stalled, within so long before; and how many those were.
func (a *aheadTrace) waitedSince(from time.Time, s *stalls, just time.Duration) (waited, excused int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.waited {
		switch {
		case at.Before(from):
		case s.touch(attempt{begin: at.Add(-just), end: at}):
			excused++
		default:
			waited++
		}
	}
	return waited, excused
}
