package retry

import (
	"math"
	"math/rand/v2"
	"time"
)

// Exponential returns a Policy.Backoff that waits for first, and for twice as long each
// time after that, but for no more than most; each lengthened at random by up to spread times
// itself (0.5: by half). Zero or less: first 100 ms, most 10 s, spread nothing. A Policy without
// a Backoff does the same by its Interval, MaxInterval and Spread, and WorstCase knows the
// longest of those waits; with this one it needs MaxInterval, which is most*(1+spread).
func Exponential(first, most time.Duration, spread float64) func(retry int) time.Duration {
	p := Policy{Interval: first, MaxInterval: most, Spread: spread}
	if spread <= 0 {
		p.Spread = -1
	}
	return p.delay
}

// Uniform returns a Policy.Backoff that waits for a time between least and most, uniformly at
// random, with the same bounds each time. If most is not more than least, it waits for least. A
// Policy does the same, if least is more than zero, by Interval and MaxInterval least, and Spread
// (most-least)/least; WorstCase then knows the longest wait. With this it needs MaxInterval: most.
func Uniform(least, most time.Duration) func(retry int) time.Duration {
	return func(int) time.Duration {
		if most <= least {
			return least
		}
		return least + rand.N(most-least)
	}
}

// WorstCase returns the longest that a call by this policy can take until it fails, or until its
// answer's head is there, if no attempt takes longer than attempt: that many attempts as the
// policy can make, and the longest waits between them, those of Retry-After included. What
// an attempt can take is the sum of Base's own limits: for a wait for capacity, of the dialer's
// stages, for writing the request and for the answer's head; or AttemptTimeout, if that is
// less. CallTimeout bounds it all. The longest wait of a Backoff is MaxInterval; without that it is
// called once for each retry, and what it returns is taken for the longest, which a random one's
// isn't.
func (p *Policy) WorstCase(attempt time.Duration) time.Duration {
	attempt = max(attempt, 0)
	if p.AttemptTimeout > 0 {
		attempt = min(attempt, p.AttemptTimeout)
	}
	longest := *p
	longest.Jitter = func() float64 { return 1 }
	sum := attempt
	for retry := range p.retries() {
		wait := longest.delay(retry + 1)
		if p.Backoff != nil && p.MaxInterval > 0 {
			wait = p.MaxInterval
		}
		if len(p.RetryStatuses) > 0 {
			wait = max(wait, p.maxRetryAfter())
		}
		sum = plus(plus(sum, wait), attempt)
	}
	if p.CallTimeout > 0 {
		sum = min(sum, p.CallTimeout)
	}
	return sum
}

// plus adds what isn't negative. A sum that doesn't fit is the longest duration.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// retries is how often the policy can send a request again.
func (p *Policy) retries() int {
	if p.maxRetries() == 0 {
		return 0
	}
	return max(p.limit(EvidenceNeverSent), p.limit(EvidenceRefused), p.limit(EvidenceMaybeSent))
}
