package retry

import (
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"example.com/connwise/pool"
)

// TestWorstCase: each preset's longest call is what its documentation says, and what a call
// takes whose attempts all fail at the last moment, with the longest waits.
func TestWorstCase(t *testing.T) {
	const attempt = 9 * time.Second // B7's phases: 1 s to connect, 3 s to write, 5 s to read
	for name, want := range map[string]time.Duration{
		"default":        4*attempt + 1050*time.Millisecond,
		"never-timeouts": 3*attempt + 450*time.Millisecond,
		"once":           2*attempt + 200*time.Millisecond,
		"safe-only":      3*attempt + 60*time.Second,
		"off":            attempt,
	} {
		p, _ := Named(name)
		if got := p.WorstCase(attempt); got != want {
			t.Errorf("%s: WorstCase says %v, want %v", name, got, want)
		}
		synctest.Test(t, func(t *testing.T) {
			p.Jitter = func() float64 { return math.Nextafter(1, 0) }
			var end any = failed(pool.PhaseRefused)
			if p.RetryStatuses != nil {
				busy := status(http.StatusTooManyRequests)
				busy.Header.Set("Retry-After", "30")
				end = busy
			}
			if got := slowly(t, p, attempt, func() any { return end }); got > want || got < want-time.Millisecond {
				t.Errorf("%s: a call took %v, want %v", name, got, want)
			}
		})
	}
}

// TestNothingIsWorse: no order of failures, and no policy, takes longer than WorstCase.
func TestNothingIsWorse(t *testing.T) {
	ends := []any{failed(pool.PhaseDial), failed(pool.PhaseUnsent), failed(pool.PhaseRefused), failed(pool.PhaseSent), timedOutIn(pool.PhaseDial), timedOutIn(pool.PhaseSent)}
	rapid.Check(t, func(r *rapid.T) {
		p := Policy{
			MaxRetries: rapid.IntRange(-1, 4).Draw(r, "retries"), MaxRefused: rapid.IntRange(-1, 5).Draw(r, "refused"),
			MaxUnsent: rapid.IntRange(-1, 5).Draw(r, "unsent"), MaxMaybeSent: rapid.IntRange(-1, 5).Draw(r, "maybe"),
			Interval: time.Duration(rapid.IntRange(0, 5000).Draw(r, "interval")) * time.Millisecond,
			Timeouts: Timeouts(rapid.IntRange(0, 2).Draw(r, "timeouts")),
			Jitter:   func() float64 { return rapid.Float64Range(0, 0.999).Draw(r, "jitter") },
		}
		p.AttemptTimeout = time.Duration(rapid.IntRange(0, 2).Draw(r, "attempt timeout")) * time.Second
		p.CallTimeout = time.Duration(rapid.IntRange(0, 20).Draw(r, "call timeout")) * time.Second
		synctest.Test(t, func(t *testing.T) {
			got := slowly(t, p, 3*time.Second, func() any { return rapid.SampledFrom(ends).Draw(r, "end") })
			if want := p.WorstCase(3 * time.Second); got > want {
				t.Errorf("a call took %v, more than %v", got, want)
			}
		})
	})
}

// TestWorstCaseOfABackoff: MaxInterval bounds what a Backoff returns, and so WorstCase knows it.
func TestWorstCaseOfABackoff(t *testing.T) {
	for _, p := range []Policy{
		{Backoff: Uniform(100*time.Millisecond, time.Second), MaxInterval: 200 * time.Millisecond},
		{Backoff: Exponential(time.Second, time.Hour, 0.5), MaxInterval: 200 * time.Millisecond},
	} {
		if got, want := p.WorstCase(time.Second), 4*time.Second+600*time.Millisecond; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		for n := range 1000 {
			if d := p.delay(n%5 + 1); d > 200*time.Millisecond {
				t.Fatalf("a wait of %v", d)
			}
		}
	}
}

// slow is a base whose attempts take long, and end by end, or when their context does.
type slow struct {
	long time.Duration
	end  func() any
}

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.long):
	case <-req.Context().Done():
		return nil, &pool.Error{Phase: pool.PhaseSent, Err: req.Context().Err()}
	}
	switch end := s.end().(type) {
	case *http.Response:
		again := *end
		return &again, nil
	default:
		return nil, end.(error)
	}
}

// slowly returns how long a call takes, in a bubble.
func slowly(t *testing.T, p Policy, attempt time.Duration, end func() any) time.Duration {
	start := time.Now()
	resp, err := (&Transport{Base: slow{attempt, end}, Policy: p}).RoundTrip(newRequest(t, "GET", nil))
	if err == nil {
		resp.Body.Close()
	}
	return time.Since(start)
}
