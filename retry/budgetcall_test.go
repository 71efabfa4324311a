package retry

import (
	"testing"

	"example.com/connwise/pool"
)

// TestOneCallsPart: what a call has taken of an account counts against its next retry by that
// account, and by that alone; a timeout counts for two.
func TestOneCallsPart(t *testing.T) {
	dial, sent, late := failed(pool.PhaseDial), failed(pool.PhaseSent), timedOutIn(pool.PhaseDial)
	for name, tt := range map[string]struct {
		ends          []any
		maybe, unsent uint64 // what was spent of each account
		reason        Reason // of the last decision
	}{
		"a fifth of ten":         {[]any{dial, dial, dial}, 0, 2, ReasonBudget},
		"two accounts":           {[]any{dial, dial, sent, sent, status(200)}, 2, 2, ReasonRepeatable},
		"timeouts":               {[]any{late, late}, 0, 2, ReasonBudget},
		"a timeout behind a try": {[]any{dial, late}, 0, 1, ReasonBudget},
	} {
		var last Decision
		base := newScript(t, tt.ends...)
		tr := &Transport{
			Base: base, Policy: atOnce(Policy{MaxRetries: 9}), Budget: &Budget{Floor: 10, Share: -1, UnprocessedShare: -1},
			OnDecision: func(d Decision) { last = d },
		}
		tr.RoundTrip(newRequest(t, "GET", nil))
		base.wantAttempts(len(tt.ends))
		if b := tr.Stats().Budget; b.Spent != tt.maybe || b.SpentUnprocessed != tt.unsent || last.Reason != tt.reason {
			t.Errorf("%s: spent %d and %d, the last decision was %q", name, b.Spent, b.SpentUnprocessed, last.Reason)
		}
	}
}
