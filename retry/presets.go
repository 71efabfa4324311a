package retry

import (
	"net/http"
	"time"
)

// Default returns the rules of the zero Policy. Provably unprocessed requests are
// sent again with any method, GET, HEAD, OPTIONS and opted-in requests also when they
// may have been processed, but not after a timeout then. Two retries, after 100 ms and
// 200 ms, each lengthened by up to 50 %; a third after 400 ms for a request that the peer
// refused. The longest call takes four attempts and 1.05 s.
func Default() Policy { return Policy{} }

// NeverTimeouts returns the policy of an SDK's server side behind a cloud provider's
// proxy (rules A1 to A12): Default, but no timeout is retried, not even that of a dial,
// and an Idempotency-Key header is no opt-in; a body that can't be rewound gets one attempt. The
// longest call takes three attempts and 450 ms.
func NeverTimeouts() Policy {
	return Policy{
		MaxRetries:           2,
		Interval:             100 * time.Millisecond,
		Spread:               0.5,
		Timeouts:             TimeoutsNever,
		IgnoreIdempotencyKey: true,
		LeaveOneShot:         true,
	}
}

// Once returns the policy of an internal client with short budgets (rules B1 to B6):
// one retry, after 100 ms to 200 ms, uniformly at random. Provably unprocessed requests
// are sent again with any method, GET, HEAD and opted-in requests also when they may
// have been processed; timeouts make no difference. The longest call takes two attempts and
// 200 ms: with a second to connect, three to write and five to read, 18.2 s.
func Once() Policy {
	return Policy{
		MaxRetries: 1,
		Interval:   100 * time.Millisecond,
		Spread:     1,
		Repeatable: []string{http.MethodGet, http.MethodHead},
		Timeouts:   TimeoutsAlways,
	}
}

// SafeOnly returns the older policy of some SDKs (rule A14): GET and HEAD only, three
// attempts, any transport failure, and 429 answers with a Retry-After. It differs from
// Default in that it leaves other methods alone even when they were provably never sent,
// takes no opt-in for them, retries timeouts, and retries an HTTP answer. The longest call takes
// three attempts and twice the longest Retry-After, 60 s; without such an answer 450 ms.
func SafeOnly() Policy {
	return Policy{
		MaxRetries:    2,
		Methods:       []string{http.MethodGet, http.MethodHead},
		Repeatable:    []string{http.MethodGet, http.MethodHead},
		Timeouts:      TimeoutsAlways,
		RetryStatuses: []int{http.StatusTooManyRequests},
	}
}

// Off returns a policy that sends nothing twice. The longest call takes one attempt.
func Off() Policy { return Policy{MaxRetries: -1} }

var presets = []struct {
	name string
	make func() Policy
}{
	{"default", Default},
	{"never-timeouts", NeverTimeouts},
	{"once", Once},
	{"safe-only", SafeOnly},
	{"off", Off},
}

// Names returns the presets' names, the default's first.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}

// Named returns the preset of that name, as settings files and command lines give it.
// The empty name is the default's, and "system-a" and "system-b" name never-timeouts and once.
// False: there is no such preset.
func Named(name string) (Policy, bool) {
	switch name {
	case "":
		return Default(), true
	case "system-a":
		return NeverTimeouts(), true
	case "system-b":
		return Once(), true
	}
	for _, p := range presets {
		if p.name == name {
			return p.make(), true
		}
	}
	return Policy{}, false
}
