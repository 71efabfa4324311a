package retry

import (
	"math"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// TestDecide pins what no grid shows: facts that make phases and methods irrelevant,
// counts, bodies and answers.
func TestDecide(t *testing.T) {
	dial := Outcome{Method: "POST", Phase: pool.PhaseDial, BodyReplayable: true}
	refused := Outcome{Method: "POST", Phase: pool.PhaseRefused, BodyReplayable: true}
	headOnly := Outcome{Method: "POST", Phase: pool.PhaseSending, HeadOnly: true, BodyReplayable: true}
	resends := Policy{ResendHeadOnly: true}
	with := func(o Outcome, change func(*Outcome)) Outcome { change(&o); return o }
	answered := func(code int, after time.Duration) Outcome {
		return Outcome{Method: "GET", Phase: pool.PhaseResponse, BodyReplayable: true,
			Status: code, HasRetryAfter: after >= 0, RetryAfter: after}
	}
	patient := Policy{RetryStatuses: []int{429, 503}, MaxRetryAfter: time.Minute}
	tests := []struct {
		name   string
		policy Policy
		o      Outcome
		want   Verdict
	}{
		{"zero outcome", Policy{}, Outcome{}, Verdict{Reason: ReasonBody}},
		{"nothing known, body or not, GET", Policy{}, Outcome{BodyReplayable: true}, Verdict{Retry: true, Reason: ReasonRepeatable}},
		{"first failure", Policy{}, dial, Verdict{Retry: true, Reason: ReasonUnprocessed}},
		{"after one retry", Policy{}, with(dial, func(o *Outcome) { o.Retry = 1 }), Verdict{Retry: true, Reason: ReasonUnprocessed}},
		{"after two", Policy{}, with(dial, func(o *Outcome) { o.Retry = 2 }), Verdict{Reason: ReasonExhausted}},
		{"refused, after two", Policy{}, with(refused, func(o *Outcome) { o.Retry = 2 }), Verdict{Retry: true, Reason: ReasonUnprocessed}},
		{"refused, after three", Policy{}, with(refused, func(o *Outcome) { o.Retry = 3 }), Verdict{Reason: ReasonExhausted}},
		{"refused, after two of two", Policy{MaxRetries: 2}, with(refused, func(o *Outcome) { o.Retry = 2 }), Verdict{Reason: ReasonExhausted}},
		{"refused, after two of four", Policy{MaxRefused: 4}, with(refused, func(o *Outcome) { o.Retry = 3 }), Verdict{Retry: true, Reason: ReasonUnprocessed}},
		{"refused, never", Policy{MaxRefused: -1}, refused, Verdict{Reason: ReasonExhausted}},
		{"refused, off", Policy{MaxRetries: -1, MaxRefused: 3}, refused, Verdict{Reason: ReasonOff}},
		{"after two of five", Policy{MaxRetries: 5}, with(dial, func(o *Outcome) { o.Retry = 2 }), Verdict{Retry: true, Reason: ReasonUnprocessed}},
		{"off", Off(), dial, Verdict{Reason: ReasonOff}},
		{"caller's fault", Policy{}, with(dial, func(o *Outcome) { o.CallerFault = true }), Verdict{Reason: ReasonCallerFault}},
		{"the proxy said no", Policy{}, with(dial, func(o *Outcome) { o.ProxySaidNo = true }), Verdict{Reason: ReasonProxy}},
		{"context ended", Policy{}, with(dial, func(o *Outcome) { o.Ended = true }), Verdict{Reason: ReasonEnded}},
		{"transport closed", Policy{}, with(dial, func(o *Outcome) { o.Closed = true }), Verdict{Reason: ReasonClosed}},
		{"one-shot body", Policy{}, with(dial, func(o *Outcome) { o.BodyReplayable = false }), Verdict{Reason: ReasonBody}},
		{"method left alone", SafeOnly(), dial, Verdict{Reason: ReasonMethod}},
		{"no capacity", Policy{}, with(dial, func(o *Outcome) { o.Phase = pool.PhaseWait }), Verdict{Reason: ReasonCapacity}},
		{"maybe executed stays that when retries are over", Policy{}, with(dial, func(o *Outcome) { o.Phase, o.Retry = pool.PhaseSent, 2 }), Verdict{Reason: ReasonProcessed}},
		{"nothing repeatable", Policy{Repeatable: []string{}}, Outcome{Phase: pool.PhaseSent, BodyReplayable: true}, Verdict{Reason: ReasonProcessed}},
		{"PUT made repeatable", Policy{Repeatable: []string{"PUT"}}, Outcome{Method: "PUT", Phase: pool.PhaseSent, BodyReplayable: true}, Verdict{Retry: true, Reason: ReasonRepeatable}},
		{"an unknown phase number proves nothing", Policy{}, with(dial, func(o *Outcome) { o.Phase = 200 }), Verdict{Reason: ReasonProcessed}},

		{"head only, no opt-in", Policy{}, headOnly, Verdict{Reason: ReasonProcessed}},
		{"head only", resends, headOnly, Verdict{Retry: true, Reason: ReasonHeadOnly}},
		{"head only, for the third time", resends, with(headOnly, func(o *Outcome) { o.Retry = 2 }), Verdict{Reason: ReasonExhausted}},
		{"head only, one-shot body", resends, with(headOnly, func(o *Outcome) { o.BodyReplayable = false }), Verdict{Reason: ReasonBody}},
		{"head only, timeout", resends, with(headOnly, func(o *Outcome) { o.Timeout = true }), Verdict{Reason: ReasonTimeout}},
		{"head only, GET", resends, with(headOnly, func(o *Outcome) { o.Method = "GET" }), Verdict{Retry: true, Reason: ReasonRepeatable}},
		{"head only, method left alone", Policy{ResendHeadOnly: true, Methods: []string{"PUT"}}, headOnly, Verdict{Reason: ReasonMethod}},
		{"the body was sent", resends, with(headOnly, func(o *Outcome) { o.HeadOnly = false }), Verdict{Reason: ReasonProcessed}},
		{"an answer", Policy{ResendHeadOnly: true, RetryStatuses: []int{503}}, with(answered(503, 0), func(o *Outcome) { o.Method, o.HeadOnly = "POST", true }), Verdict{Reason: ReasonProcessed}},

		{"503, no policy for it", Policy{}, answered(503, 0), Verdict{Reason: ReasonAnswered}},
		{"503 with Retry-After", patient, answered(503, time.Second), Verdict{Retry: true, Reason: ReasonRetryAfter, After: time.Second}},
		{"503 with Retry-After: 0", patient, answered(503, 0), Verdict{Retry: true, Reason: ReasonRetryAfter}},
		{"503 without", patient, answered(503, -1), Verdict{Reason: ReasonAnswered}},
		{"at the cap", patient, answered(503, time.Minute), Verdict{Retry: true, Reason: ReasonRetryAfter, After: time.Minute}},
		{"past the cap", patient, answered(503, time.Minute+1), Verdict{Reason: ReasonTooLate}},
		{"for ever", patient, answered(503, math.MaxInt64), Verdict{Reason: ReasonTooLate}},
		{"past the default cap", SafeOnly(), answered(429, 31*time.Second), Verdict{Reason: ReasonTooLate}},
		{"another status", patient, answered(500, time.Second), Verdict{Reason: ReasonAnswered}},
		{"success", patient, answered(200, time.Second), Verdict{Reason: ReasonAnswered}},
		{"answers are counted too", patient, with(answered(503, 0), func(o *Outcome) { o.Retry = 2 }), Verdict{Reason: ReasonExhausted}},
		{"an answer proves nothing for POST", patient, with(answered(503, 0), func(o *Outcome) { o.Method = http.MethodPost }), Verdict{Reason: ReasonProcessed}},
		{"but for an opted-in POST", patient, with(answered(503, 0), func(o *Outcome) { o.Method, o.Opted = http.MethodPost, OptInHeader }), Verdict{Retry: true, Reason: ReasonRetryAfter}},
		{"answer to a one-shot body", patient, with(answered(503, 0), func(o *Outcome) { o.BodyReplayable = false }), Verdict{Reason: ReasonBody}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // pure: asking again changes nothing
				if got := tt.policy.Decide(tt.o); got != tt.want {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
			}
		})
	}
}

// TestDelay pins the built-in back-off, with the random share at its ends.
func TestDelay(t *testing.T) {
	const ms = time.Millisecond
	never, almost := 0.0, math.Nextafter(1, 0)
	tests := []struct {
		name   string
		policy Policy
		jitter float64
		want   []time.Duration
	}{
		{"A7, shortest", NeverTimeouts(), never, []time.Duration{100 * ms, 200 * ms}},
		{"A7, longest", NeverTimeouts(), almost, []time.Duration{150 * ms, 300 * ms}},
		{"zero", Policy{}, 0.5, []time.Duration{125 * ms, 250 * ms, 500 * ms}},
		{"B4, shortest", Once(), never, []time.Duration{100 * ms}},
		{"B4, longest", Once(), almost, []time.Duration{200 * ms}},
		{"no spread", Policy{Spread: -1}, almost, []time.Duration{100 * ms, 200 * ms, 400 * ms}},
		{"capped", Policy{Interval: 3 * time.Second}, never, []time.Duration{3 * time.Second, 6 * time.Second, 10 * time.Second, 10 * time.Second}},
		{"cap below the interval", Policy{MaxInterval: 50 * ms}, never, []time.Duration{50 * ms, 50 * ms}},
		{"no overflow", Policy{Interval: 1 << 61, MaxInterval: math.MaxInt64}, never, []time.Duration{1 << 61, 1 << 62, math.MaxInt64}},
		{"no overflow with jitter", Policy{Interval: math.MaxInt64, MaxInterval: math.MaxInt64}, almost, []time.Duration{math.MaxInt64}},
		{"own", Policy{Backoff: func(n int) time.Duration { return time.Duration(2-n) * time.Hour }}, almost, []time.Duration{time.Hour, 0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.policy.Jitter = func() float64 { return tt.jitter }
			for i, want := range tt.want {
				got := tt.policy.delay(i + 1)
				if d := got - want; d < -1 || d > 1 { // a nanosecond of rounding
					t.Errorf("retry %d after %v, want %v", i+1, got, want)
				}
			}
		})
	}
}

// TestDelayIsRandom: without an injected Jitter callers don't come back in lockstep, and
// stay within the bounds.
func TestDelayIsRandom(t *testing.T) {
	p := Once()
	seen := map[time.Duration]bool{}
	for range 100 {
		d := p.delay(1)
		seen[d] = true
		if d < 100*time.Millisecond || d >= 200*time.Millisecond {
			t.Fatalf("waits %v, want [100ms, 200ms)", d)
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d different waits in 100", len(seen))
	}
}
