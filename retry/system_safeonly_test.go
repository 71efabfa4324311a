package retry_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// TestA14_SafeOnly: the sister SDKs' policy, which is off unless it's asked for. GET and HEAD alone
// are sent again, after any failure of the transport, timeouts included, in three attempts.
func TestA14_SafeOnly(t *testing.T) {
	for _, w := range append([]way{
		{name: "TLS timeout", phase: pool.PhaseDial, timeout: true, act: hsSilence, change: hastyTLS},
		{name: "read timeout", phase: pool.PhaseSent, timeout: true, act: never, change: hastyAnswer},
		unsentWays[0], unsentWays[1], unsentWays[8], unsentWays[10],
	}, sentWays[:5]...) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			for _, verb := range verbs {
				for _, key := range []string{"", "Idempotency-Key"} {
					o, r := w.start(t, quick(retry.SafeOnly()), 3)
					p := payload{method: verb, body: payloads()[0].body}
					req := r.request(verb, o.url(), p)
					if key != "" {
						req.Header.Set(key, "k")
						req = req.WithContext(retry.WithIdempotent(req.Context()))
					}
					res := r.send(req)
					want := 0
					if verb == "GET" || verb == "HEAD" {
						want = 2
					}
					w.wantError(t, verb, res.err)
					r.wantRetries(res, want)
					if w.phase.Unprocessed() {
						o.wantSeen()
					} else if n := o.accepted(); w.timeout { // the server may not have read the request in time
						if n != want+1 {
							t.Errorf("%s: %d connections, want %d", verb, n, want+1)
						}
					} else if n := len(o.requests()); n != want+1 {
						t.Errorf("%s: the server saw %d requests, want %d", verb, n, want+1)
					}
				}
			}
		})
	}
}

// TestA14_TooManyRequests: a 429 is repeated if it says when, as seconds or as a date, and not
// before. The third answer is the caller's.
func TestA14_TooManyRequests(t *testing.T) {
	date := time.Now().UTC().Truncate(time.Second)
	in := func(d time.Duration) string {
		return "Date: " + date.Format(http.TimeFormat) + "\r\nRetry-After: " + date.Add(d).Format(http.TimeFormat)
	}
	for _, tt := range []struct {
		name, verb, fields string
		retries            int
		least              time.Duration
	}{
		{"at once", "GET", "Retry-After: 0", 2, 0},
		{"at once", "HEAD", "Retry-After: 0", 2, 0},
		{"seconds", "GET", "Retry-After: 1", 2, 2 * time.Second},
		{"a date", "GET", in(time.Second), 2, 2 * time.Second},
		{"a date that is past", "GET", in(-time.Minute), 2, 0},
		{"not when", "GET", "X-Rate: 1", 0, 0},
		{"nonsense", "GET", "Retry-After: soon", 0, 0},
		{"twice", "GET", "Retry-After: 0\r\nRetry-After: 0", 0, 0},
		{"too late", "GET", "Retry-After: 3600", 0, 0},
		{"POST", "POST", "Retry-After: 0", 0, 0},
		{"PUT", "PUT", "Retry-After: 0", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, true, []string{serve429, serve429, serve429})
			o.fields = tt.fields
			r := newRig(t, quick(retry.SafeOnly()), nil, nil)
			start := time.Now()
			res := r.do(tt.verb, o.url(), nil)
			took := time.Since(start)
			if res.err != nil || res.status != http.StatusTooManyRequests || tt.verb != "HEAD" && res.body != "no" {
				t.Errorf("got %d, %q, %v; want the last 429", res.status, res.body, res.err)
			}
			r.wantRetries(res, tt.retries)
			for _, err := range res.report.Errors {
				if e, ok := errors.AsType[*retry.StatusError](err); !ok || e.Status != http.StatusTooManyRequests {
					t.Errorf("reported %v", err)
				}
			}
			if took < tt.least || took > tt.least+hurry {
				t.Errorf("took %v, want %v", took, tt.least)
			}
			if n, c := len(o.requests()), o.accepted(); n != tt.retries+1 || c != 1 {
				t.Errorf("%d requests on %d connections, want %d on 1", n, c, tt.retries+1)
			}
		})
	}
}

// TestA14_OtherAnswers: no other status is repeated, whatever it says.
func TestA14_OtherAnswers(t *testing.T) {
	for _, act := range []string{serve500, serve503} {
		o := newOrigin(t, true, []string{act})
		r := newRig(t, quick(retry.SafeOnly()), nil, nil)
		res := r.do("GET", o.url(), nil)
		r.wantRetries(res, 0)
		o.wantSeen(seen{method: "GET"})
	}
}
