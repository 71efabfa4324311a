package main

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/connwise/retry"
)

// describe says in lines what a policy's matrix doesn't show: how often, after which
// waits, what counts as an opt-in, and which answers are retried.
func describe(p retry.Policy) string {
	var b strings.Builder
	for _, l := range [][2]string{
		{"retries", describeRetries(p)},
		{"waits", describeWaits(p)},
		{"methods", describeMethods(p)},
		{"opt-in", describeOptIn(p)},
		{"bodies", describeBodies(p)},
		{"answers", describeStatuses(p)},
		{"longest", describeLongest(p)},
	} {
		_, _ = fmt.Fprintf(&b, "  %-9s%s\n", l[0]+":", l[1])
	}
	return b.String()
}

func describeRetries(p retry.Policy) string {
	s := fmt.Sprintf("%d at most", retriesOf(p))
	if n := refusedOf(p); n != retriesOf(p) {
		s += fmt.Sprintf(", %d of what the peer refused", n)
	}
	return s
}

// refusedOf is retriesOf for what the peer refused, as retry.Policy.MaxRefused has it.
func refusedOf(p retry.Policy) int {
	switch {
	case p.MaxRetries < 0:
		return 0
	case p.MaxRefused == 0 && p.MaxRetries == 0:
		return 3
	}
	return max(cmp.Or(p.MaxRefused, p.MaxRetries), 0)
}

// retriesOf and firstWait and spreadOf put in what retry.Policy says of its zeros.
func retriesOf(p retry.Policy) int { return max(cmp.Or(p.MaxRetries, 2), 0) }

func firstWait(p retry.Policy) time.Duration { return cmp.Or(p.Interval, 100*time.Millisecond) }

func spreadOf(p retry.Policy) float64 { return max(cmp.Or(p.Spread, 0.5), 0) }

// waitsOf returns the waits without what is added at random.
func waitsOf(p retry.Policy) []time.Duration {
	most := cmp.Or(p.MaxInterval, 10*time.Second)
	waits := make([]time.Duration, retriesOf(p))
	d := firstWait(p)
	for i := range waits {
		waits[i] = min(d, most)
		d = min(2*d, most)
	}
	return waits
}

func describeWaits(p retry.Policy) string {
	var list []string
	for _, d := range waitsOf(p) {
		list = append(list, d.String())
	}
	s := strings.Join(list, ", then ")
	if len(list) > 1 {
		s += " (doubling)"
	}
	if spread := spreadOf(p); spread > 0 {
		s += fmt.Sprintf(", each lengthened at random by up to %g %%", 100*spread)
	}
	return s
}

func describeMethods(p retry.Policy) string {
	if p.Methods == nil {
		return "all, as the matrix says"
	}
	return "only " + strings.Join(p.Methods, ", ")
}

// describeOptIn asks the policy itself whether an opt-in changes its mind.
func describeOptIn(p retry.Policy) string {
	var header, call bool
	for _, r := range retry.Matrix(p) {
		if r.Retry && r.Reason == retry.ReasonOptedIn {
			header = header || r.OptIn == retry.OptInHeader.String()
			call = call || r.OptIn == retry.OptInCall.String()
		}
	}
	switch {
	case header:
		return "an Idempotency-Key or X-Idempotency-Key header, or retry.WithIdempotent"
	case call:
		return "retry.WithIdempotent; an Idempotency-Key header means nothing"
	}
	return "none"
}

func describeStatuses(p retry.Policy) string {
	if len(p.RetryStatuses) == 0 {
		return "every HTTP answer is returned, whatever its status"
	}
	var list []string
	for _, s := range p.RetryStatuses {
		list = append(list, fmt.Sprintf("%d %s", s, http.StatusText(s)))
	}
	return fmt.Sprintf("%s with a Retry-After of %v at most is retried after it; others are returned",
		strings.Join(list, ", "), cmp.Or(p.MaxRetryAfter, 30*time.Second))
}

func describeBodies(p retry.Policy) string {
	if p.LeaveOneShot {
		return "sent again from GetBody or by Seek; others get one attempt"
	}
	return "sent again from GetBody or by Seek; others as long as nobody has read from them"
}

// describeLongest asks the policy for its worst case: how many attempts there are in it, by
// how much longer it is with a longer attempt.
func describeLongest(p retry.Policy) string {
	waits := p.WorstCase(0)
	return fmt.Sprintf("%d attempts, and waits of %v", int64(p.WorstCase(1)-waits), waits)
}
