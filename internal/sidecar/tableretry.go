package sidecar

import (
	"example.com/connwise/dialer"
	"example.com/connwise/retry"
)

// policyKey is the setting that the others of retry change.
const policyKey = "retry.policy"

func (s *Settings) retryTable() []Setting {
	p := &s.Policy
	return []Setting{
		{Key: policyKey, Value: words(&s.PolicyName, retry.Names()...),
			Doc: "the preset that the other settings of retry change: see connwise policy"},
		{Key: "retry.max_retries", Field: "Policy.MaxRetries", Value: count{&p.MaxRetries, offNegative},
			Doc: "how often a request is sent again"},
		{Key: "retry.max_unsent", Field: "Policy.MaxUnsent", Value: count{&p.MaxUnsent, offNegative},
			Doc: "the same, if it was never sent"},
		{Key: "retry.max_refused", Field: "Policy.MaxRefused", Value: count{&p.MaxRefused, offNegative},
			Doc: "the same, if the upstream refused it without processing it"},
		{Key: "retry.max_maybe_sent", Field: "Policy.MaxMaybeSent", Value: count{&p.MaxMaybeSent, offNegative},
			Doc: "the same, if it may have been processed and may run twice"},
		{Key: "retry.interval", Field: "Policy.Interval", Value: duration{&p.Interval, offNever},
			Doc: "the wait before the first retry; it doubles with each"},
		{Key: "retry.max_interval", Field: "Policy.MaxInterval", Value: duration{&p.MaxInterval, offNever},
			Doc: "the longest wait, before it is lengthened"},
		{Key: "retry.spread", Field: "Policy.Spread", Value: share{&p.Spread, offNegative},
			Doc: "the largest share of a wait that is added at random"},
		{Key: "retry.methods", Field: "Policy.Methods", Value: list{&p.Methods, "all"},
			Doc: "the only methods that are ever sent again"},
		{Key: "retry.repeatable", Field: "Policy.Repeatable", Value: list{&p.Repeatable, ""},
			Doc: "the methods that are sent again although they may have been processed"},
		{Key: "retry.timeouts", Field: "Policy.Timeouts", Value: choice[retry.Timeouts]{&p.Timeouts, timeoutsOptions},
			Doc: "which timeouts are retried: unprocessed (provably), never, always"},
		{Key: "retry.stages.resolve", Field: "Policy.Stages", Value: stage{p, dialer.StageResolve},
			Doc: "a failed lookup is followed by: retry, not-timeouts, never"},
		{Key: "retry.stages.connect", Field: "Policy.Stages", Value: stage{p, dialer.StageConnect},
			Doc: "the same for connecting"},
		{Key: "retry.stages.proxy", Field: "Policy.Stages", Value: stage{p, dialer.StageProxy},
			Doc: "the same for the proxy"},
		{Key: "retry.stages.tls", Field: "Policy.Stages", Value: stage{p, dialer.StageTLS},
			Doc: "the same for TLS"},
		{Key: "retry.capacity", Field: "Policy.RetryCapacity", Value: boolean{&p.RetryCapacity},
			Doc: "send a request again that waited for a connection in vain"},
		{Key: "retry.leave_one_shot", Field: "Policy.LeaveOneShot", Value: boolean{&p.LeaveOneShot},
			Doc: "give a request whose body streams one attempt, even if nothing was read of it"},
		{Key: "retry.next_conn", Field: "Policy.NextConn", Value: choice[retry.NextConn]{&p.NextConn, nextConnOptions},
			Doc: "which connection the next attempt prefers: elsewhere (another address), fresh, any"},
		{Key: "retry.attempt_timeout", Field: "Policy.AttemptTimeout", Value: duration{&p.AttemptTimeout, offZero},
			Doc: "for an attempt, until the answer's head is there"},
		{Key: "retry.call_timeout", Field: "Policy.CallTimeout", Value: duration{&p.CallTimeout, offZero},
			Doc: "for all attempts and waits together"},
		{Key: "retry.ignore_idempotency_key", Field: "Policy.IgnoreIdempotencyKey", Value: boolean{&p.IgnoreIdempotencyKey},
			Doc: "an Idempotency-Key of the client's is no leave to send its request twice"},
		{Key: "retry.resend_head_only", Field: "Policy.ResendHeadOnly", Value: boolean{&p.ResendHeadOnly},
			Doc: "send again what the upstream has no more than the head of"},
		{Key: "retry.statuses", Field: "Policy.RetryStatuses", Value: statuses{&p.RetryStatuses},
			Doc: "answers that are retried if they have a Retry-After"},
		{Key: "retry.max_retry_after", Field: "Policy.MaxRetryAfter", Value: duration{&p.MaxRetryAfter, offNever},
			Doc: "the longest Retry-After that is waited for"},
	}
}

func (s *Settings) budgetTable() []Setting {
	b := s.Budget
	return []Setting{
		{Key: "budget.share", Field: "Budget.Share", Value: share{&b.Share, offNegative},
			Doc: "the share of requests that may be sent again although they may have been processed"},
		{Key: "budget.unprocessed_share", Field: "Budget.UnprocessedShare", Value: share{&b.UnprocessedShare, offNegative},
			Doc: "the same for those that are provably unprocessed"},
		{Key: "budget.floor", Field: "Budget.Floor", Value: count{&b.Floor, offNegative},
			Doc: "what retries of each kind may cost in a window however few requests there are"},
		{Key: "budget.window", Field: "Budget.Window", Value: duration{&b.Window, offNever},
			Doc: "how long requests and retries count"},
		{Key: "budget.timeout_cost", Field: "Budget.TimeoutCost", Value: count{&b.TimeoutCost, offNever},
			Doc: "how many retries one after a timeout counts for"},
		{Key: "budget.part", Field: "Budget.Part", Value: share{&b.Part, offNever},
			Doc: "the part of what is left that the retries of one request may take"},
	}
}
