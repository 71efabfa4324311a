package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/connwise/pool"
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
	most := retriesOf(p, pool.PhaseDial)
	s := fmt.Sprintf("%d at most", most)
	if n := retriesOf(p, pool.PhaseRefused); n != most {
		s += fmt.Sprintf(", %d of what the peer refused", n)
	}
	return s
}

// retriesOf asks the policy how often a GET is sent again that fails in that phase each time.
func retriesOf(p retry.Policy, phase pool.Phase) int {
	n := 0
	for p.Decide(retry.Outcome{Phase: phase, BodyReplayable: true, Retry: n}).Retry {
		n++
	}
	return n
}

// longestWait asks the policy how long it waits in all if there are that many retries, at most.
// An answer's Retry-After isn't meant.
func longestWait(p retry.Policy, retries int) time.Duration {
	if retries == 0 {
		return 0
	}
	waits := retry.Policy{MaxRetries: retries, Interval: p.Interval, MaxInterval: p.MaxInterval, Spread: p.Spread}
	return waits.WorstCase(0)
}

// waitsOf returns the waits without what is added at random.
func waitsOf(p retry.Policy) []time.Duration {
	p.Spread = -1
	waits := make([]time.Duration, retriesOf(p, pool.PhaseDial))
	for i := range waits {
		waits[i] = longestWait(p, i+1) - longestWait(p, i)
	}
	return waits
}

// spreadOf returns the largest share of a wait that is added at random.
func spreadOf(p retry.Policy) float64 {
	longest := longestWait(p, 1)
	p.Spread = -1
	return float64(longest)/float64(longestWait(p, 1)) - 1
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
	longest := retry.Policy{MaxRetries: 1, Interval: 1, Spread: -1, RetryStatuses: p.RetryStatuses, MaxRetryAfter: p.MaxRetryAfter}
	return fmt.Sprintf("%s with a Retry-After of %v at most is retried after it; others are returned",
		strings.Join(list, ", "), longest.WorstCase(0))
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
