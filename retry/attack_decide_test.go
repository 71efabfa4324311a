package retry_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// TestMoreEvidenceIsNoLess: what is sent again although it may have been processed is sent again if
// it provably was not, by a policy without rules that say otherwise.
func TestMoreEvidenceIsNoLess(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPolicy(r)
		p.Stages, p.RetryCapacity, p.MaxUnsent, p.MaxRefused, p.MaxMaybeSent = nil, true, 0, 0, 0
		if p.MaxRetries == 0 {
			p.MaxRetries = 2 // zero has one more for refused requests
		}
		flag := rapid.Bool()
		o := retry.Outcome{
			Method: rapid.SampledFrom(attackMethods).Draw(r, "method"), Retry: rapid.IntRange(0, 4).Draw(r, "retry"),
			Phase: pool.Phase(rapid.IntRange(0, 9).Draw(r, "phase")), Timeout: flag.Draw(r, "Timeout"), HeadOnly: flag.Draw(r, "HeadOnly"),
			Earlier: flag.Draw(r, "Earlier"), LongRead: flag.Draw(r, "LongRead"), CallerFault: flag.Draw(r, "CallerFault"), ProxySaidNo: flag.Draw(r, "ProxySaidNo"),
			Ended: flag.Draw(r, "Ended"), Closed: flag.Draw(r, "Closed"), BodyReplayable: flag.Draw(r, "BodyReplayable"), Opted: retry.OptIn(rapid.IntRange(0, 2).Draw(r, "Opted")),
		}
		before := p.Decide(o)
		for name, change := range map[string]func(*retry.Outcome){
			"unsent": func(o *retry.Outcome) { o.Phase = pool.PhaseUnsent }, "refused": func(o *retry.Outcome) { o.Phase = pool.PhaseRefused },
			"dial": func(o *retry.Outcome) { o.Phase = pool.PhaseDial }, "no doubt": func(o *retry.Outcome) { o.Earlier = false },
			"opted in": func(o *retry.Outcome) { o.Opted = retry.OptInCall }, "replayable": func(o *retry.Outcome) { o.BodyReplayable = true },
			"no timeout": func(o *retry.Outcome) { o.Timeout = false }, "no long read": func(o *retry.Outcome) { o.LongRead = false },
			"not ended": func(o *retry.Outcome) { o.Ended = false }, "no fault": func(o *retry.Outcome) { o.CallerFault = false },
			"an earlier one": func(o *retry.Outcome) { o.Retry = max(o.Retry-1, 0) },
		} {
			more := o
			change(&more)
			if after := p.Decide(more); before.Retry && !after.Retry {
				r.Errorf("%s: %+v, before %+v\n%+v\n%+v", name, after, before, o, p)
			}
		}
		if o.Status = 200 + o.Retry; p.Decide(o).Retry {
			r.Errorf("answer %s is retried", strconv.Itoa(o.Status))
		}
	})
}
