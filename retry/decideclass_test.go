package retry

import (
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// TestDecideByClass pins the settings of each class of evidence, of stages, and of what
// takes a phase its proof.
func TestDecideByClass(t *testing.T) {
	in := func(phase pool.Phase, retry int) Outcome {
		return Outcome{Method: "GET", Phase: phase, Retry: retry, BodyReplayable: true}
	}
	failedIn := func(stage dialer.Stage, timeout bool) Outcome {
		return Outcome{Method: "POST", Phase: pool.PhaseDial, Stage: stage, Timeout: timeout, BodyReplayable: true}
	}
	stages := Policy{Stages: map[dialer.Stage]StageRule{dialer.StageResolve: StageNever, dialer.StageTLS: StageNotTimeouts}}
	yes := func(r Reason) Verdict { return Verdict{Retry: true, Reason: r} }
	no := func(r Reason) Verdict { return Verdict{Reason: r} }
	with := func(o Outcome, change func(*Outcome)) Outcome { change(&o); return o }
	tests := []struct {
		name   string
		policy Policy
		o      Outcome
		want   Verdict
	}{
		{"unsent, one of one", Policy{MaxUnsent: 1}, in(pool.PhaseUnsent, 1), no(ReasonExhausted)},
		{"a dial counts as unsent", Policy{MaxUnsent: 1}, in(pool.PhaseDial, 1), no(ReasonExhausted)},
		{"others aren't concerned", Policy{MaxUnsent: 1}, in(pool.PhaseSent, 1), yes(ReasonRepeatable)},
		{"unsent, more than others", Policy{MaxUnsent: 5}, in(pool.PhaseUnsent, 4), yes(ReasonUnprocessed)},
		{"unsent, never", Policy{MaxUnsent: -1}, in(pool.PhaseUnsent, 0), no(ReasonExhausted)},
		{"maybe sent, one of one", Policy{MaxMaybeSent: 1}, in(pool.PhaseSent, 1), no(ReasonExhausted)},
		{"maybe sent, never", Policy{MaxMaybeSent: -1}, in(pool.PhaseUnknown, 0), no(ReasonExhausted)},
		{"an answer counts as maybe sent", Policy{MaxMaybeSent: -1, RetryStatuses: []int{503}}, with(in(pool.PhaseResponse, 0), func(o *Outcome) { o.Status, o.HasRetryAfter = 503, true }), no(ReasonExhausted)},

		{"a stage that isn't named", stages, failedIn(dialer.StageConnect, true), yes(ReasonUnprocessed)},
		{"a stage that is left alone", stages, failedIn(dialer.StageResolve, false), no(ReasonStage)},
		{"a stage, but for timeouts", stages, failedIn(dialer.StageTLS, false), yes(ReasonUnprocessed)},
		{"a stage's timeout", stages, failedIn(dialer.StageTLS, true), no(ReasonTimeout)},
		{"a stage is no other phase's", Policy{Stages: map[dialer.Stage]StageRule{0: StageNever}}, in(pool.PhaseUnsent, 0), yes(ReasonUnprocessed)},

		{"capacity", Policy{RetryCapacity: true}, in(pool.PhaseWait, 0), yes(ReasonUnprocessed)},
		{"capacity, no timeouts", Policy{RetryCapacity: true, Timeouts: TimeoutsNever}, with(in(pool.PhaseWait, 0), func(o *Outcome) { o.Timeout = true }), no(ReasonTimeout)},

		{"a long read", Policy{Timeouts: TimeoutsAlways}, with(in(pool.PhaseSent, 0), func(o *Outcome) { o.LongRead = true }), no(ReasonLongRead)},
		{"a long read that was never sent", Policy{}, with(in(pool.PhaseDial, 0), func(o *Outcome) { o.LongRead = true }), yes(ReasonUnprocessed)},
		{"a long read, opted in", Policy{}, with(in(pool.PhaseSent, 0), func(o *Outcome) { o.LongRead, o.Opted = true, OptInCall }), no(ReasonLongRead)},

		{"sent earlier, POST", Policy{}, with(failedIn(dialer.StageConnect, false), func(o *Outcome) { o.Earlier = true }), no(ReasonProcessed)},
		{"sent earlier, opted in", Policy{}, with(failedIn(dialer.StageConnect, false), func(o *Outcome) { o.Earlier, o.Opted = true, OptInHeader }), yes(ReasonOptedIn)},
		{"sent earlier, the header doesn't count", NeverTimeouts(), with(failedIn(dialer.StageConnect, false), func(o *Outcome) { o.Earlier, o.Opted = true, OptInHeader }), no(ReasonProcessed)},
		{"sent earlier, safe", Once(), with(failedIn(dialer.StageConnect, true), func(o *Outcome) { o.Earlier, o.Method = true, "OPTIONS" }), yes(ReasonRepeatable)},
		{"sent earlier, of maybe sent none", Policy{MaxMaybeSent: -1}, with(in(pool.PhaseDial, 0), func(o *Outcome) { o.Earlier = true }), no(ReasonExhausted)},
	}
	for _, tt := range tests {
		if got := tt.policy.Decide(tt.o); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestEarlierIsDoubt: what Base may have sent before by itself proves nothing.
func TestEarlierIsDoubt(t *testing.T) {
	for phase := pool.PhaseUnknown; phase <= pool.PhaseResponse; phase++ {
		o := Outcome{Phase: phase}
		if got := o.evidence().Unprocessed(); got != phase.Unprocessed() {
			t.Errorf("%v: unprocessed: %v", phase, got)
		}
		o.Earlier = true
		if o.evidence().Unprocessed() {
			t.Errorf("%v: proof of a request that was sent before", phase)
		}
	}
}
