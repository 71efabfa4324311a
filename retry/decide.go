package retry

import (
	"net/http"
	"slices"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// OptIn says how a caller allowed a request to be executed twice.
type OptIn uint8

const (
	OptInNone   OptIn = iota // not at all
	OptInHeader              // by an Idempotency-Key or X-Idempotency-Key header
	OptInCall                // by WithIdempotent
)

// String returns "none", "header" or "call".
func (o OptIn) String() string {
	switch o {
	case OptInHeader:
		return "header"
	case OptInCall:
		return "call"
	}
	return "none"
}

// An Outcome is what is known of an attempt that failed, or of an answer that a policy
// might retry, as plain values. The zero Outcome is the most careful one: nothing is
// known of the failure and the body can't be had again.
type Outcome struct {
	Method string // the request's; empty means GET, as in net/http
	Retry  int    // retries made before: 0 after the first attempt

	Phase   pool.Phase   // how far the request got
	Stage   dialer.Stage // with PhaseDial: which part of opening a connection failed; zero: unknown
	Timeout bool         // a time limit was reached
	// HeadOnly: the head was sent, and nothing of the body, which waited for 100 Continue.
	HeadOnly bool
	// Earlier: Base may have sent the request before by itself, so that Phase, which says how
	// the last of its attempts ended, is no proof.
	Earlier bool
	// LongRead: the call has a read timeout of its own, longer than the usual one
	// (pool.WithReadTimeout). If it may have been processed, another such wait is too much. The
	// usual one is what Base's method ReadTimeout returns; if that is zero, no limit, none is longer.
	// Over a Base without the method (a pool's wrapper) any counts as longer, and over an
	// *http.Transport, which heeds none, none does.
	LongRead bool

	CallerFault bool // a *pool.CallerError: sending it again would fail in the same way
	ProxySaidNo bool // a proxy answered CONNECT with a 4xx status, or with no HTTP: it would again
	Ended       bool // the request's context ended, or its deadline passed
	Closed      bool // pool.ErrClosed: no later attempt can succeed

	BodyReplayable bool  // there is no body, or it can be had again from its start
	Opted          OptIn // the caller allows the request to be executed twice

	Status        int           // of an answer; zero: the attempt failed without one
	HasRetryAfter bool          // the answer has a valid Retry-After
	RetryAfter    time.Duration // how long it asks to wait
}

// A Reason says why a request is sent again, or isn't.
type Reason string

// Reasons to send a request again.
const (
	ReasonUnprocessed Reason = "not processed"        // provably: any method is safe
	ReasonRepeatable  Reason = "method is repeatable" // may have been processed, does no harm
	ReasonOptedIn     Reason = "caller opted in"      // may have been processed, the caller allows it
	ReasonHeadOnly    Reason = "body not sent"        // nor anything of it; the policy opted in to two heads
	ReasonRetryAfter  Reason = "answer says when"     // a status of RetryStatuses with Retry-After
)

// Reasons not to.
const (
	ReasonOff         Reason = "retries are off"
	ReasonCallerFault Reason = "caller's fault"
	ReasonProxy       Reason = "refused by the proxy"
	ReasonEnded       Reason = "context ended"
	ReasonClosed      Reason = "transport is closed"
	ReasonCapacity    Reason = "no capacity"            // waiting again would only add load
	ReasonAnswered    Reason = "answered"               // an HTTP answer that isn't to be retried
	ReasonTooLate     Reason = "Retry-After too long"   // longer than MaxRetryAfter
	ReasonMethod      Reason = "method is left alone"   // not in Methods
	ReasonTimeout     Reason = "timeout"                // by the policy's Timeouts or Stages
	ReasonStage       Reason = "stage is left alone"    // by the policy's Stages
	ReasonLongRead    Reason = "long read timeout"      // of the call's own: its worst case isn't doubled
	ReasonBody        Reason = "body can't be rewound"  // no GetBody, not seekable
	ReasonProcessed   Reason = "may have been executed" // the method isn't repeatable, nobody opted in
	ReasonExhausted   Reason = "out of retries"
	ReasonBudget      Reason = "budget is spent"   // Transport.Budget
	ReasonDeadline    Reason = "deadline too near" // of the request's context: it would pass in the wait
	ReasonOutOfTime   Reason = "call timeout"      // Policy.CallTimeout: it has passed, or would in the wait
)

// A Verdict is a policy's decision.
type Verdict struct {
	Retry  bool
	Reason Reason
	// After is how long the peer asks to wait at least. The policy's back-off applies
	// as well; the longer of the two counts.
	After time.Duration
}

// Decide says whether the request is to be sent again. It is pure: the same outcome
// always gets the same verdict.
func (p *Policy) Decide(o Outcome) Verdict {
	if o.Method == "" {
		o.Method = http.MethodGet
	}
	if reason := p.final(o); reason != "" {
		return Verdict{Reason: reason}
	}
	v := p.allowed(o)
	if v.Retry && o.Retry >= p.limit(o.evidence()) {
		return Verdict{Reason: ReasonExhausted}
	}
	return v
}

// final returns why no rule about phases and methods matters, or "".
func (p *Policy) final(o Outcome) Reason {
	switch {
	case p.maxRetries() == 0:
		return ReasonOff
	case o.Status != 0 && !p.retriesStatus(o.Status), o.Status != 0 && !o.HasRetryAfter:
		return ReasonAnswered
	case o.CallerFault:
		return ReasonCallerFault
	case o.ProxySaidNo:
		return ReasonProxy
	case o.Ended:
		return ReasonEnded
	case o.Closed:
		return ReasonClosed
	case o.Status == 0 && o.Phase == pool.PhaseWait && !p.RetryCapacity:
		return ReasonCapacity
	case !p.covers(o.Method):
		return ReasonMethod
	case !o.BodyReplayable:
		return ReasonBody
	}
	return ""
}

// allowed applies the rules about answers, phases, timeouts and methods.
func (p *Policy) allowed(o Outcome) Verdict {
	if o.Status == 0 && o.Phase.Unprocessed() {
		return p.allowedUnprocessed(o)
	}
	reason, ok := p.mayRepeat(o)
	switch {
	case !ok:
		return Verdict{Reason: reason}
	case o.Status == 0 && o.Timeout && p.Timeouts != TimeoutsAlways:
		return Verdict{Reason: ReasonTimeout}
	case o.Status == 0 && o.LongRead:
		return Verdict{Reason: ReasonLongRead}
	case o.Status == 0:
		return Verdict{Retry: true, Reason: reason}
	case o.RetryAfter > p.maxRetryAfter():
		return Verdict{Reason: ReasonTooLate}
	}
	return Verdict{Retry: true, Reason: ReasonRetryAfter, After: max(o.RetryAfter, 0)}
}

func (p *Policy) allowedUnprocessed(o Outcome) Verdict {
	rule := StageRetry
	if o.Phase == pool.PhaseDial {
		rule = p.Stages[o.Stage]
	}
	switch {
	case rule == StageNever:
		return Verdict{Reason: ReasonStage}
	case o.Timeout && (rule == StageNotTimeouts || p.Timeouts == TimeoutsNever):
		return Verdict{Reason: ReasonTimeout}
	case o.Earlier && safe(o.Method):
		return Verdict{Retry: true, Reason: ReasonRepeatable}
	case o.Earlier:
		reason, ok := p.mayRepeat(o)
		return Verdict{Retry: ok, Reason: reason}
	}
	return Verdict{Retry: true, Reason: ReasonUnprocessed}
}

// safe reports whether the method is safe by RFC 9110 section 9.2.1: to execute it once more does
// no harm, whatever a policy calls repeatable.
func safe(method string) bool {
	return slices.Contains(safeMethods, method) || method == http.MethodTrace
}

// evidence is what the outcome proves.
func (o *Outcome) evidence() Evidence {
	if o.Status != 0 || o.Earlier {
		return EvidenceMaybeSent
	}
	return evidenceOf(o.Phase)
}

// mayRepeat says whether a request that may have been processed does no harm twice.
func (p *Policy) mayRepeat(o Outcome) (Reason, bool) {
	switch {
	case p.repeatable(o.Method):
		return ReasonRepeatable, true
	case o.Opted == OptInCall, o.Opted == OptInHeader && !p.IgnoreIdempotencyKey:
		return ReasonOptedIn, true
	case p.ResendHeadOnly && o.HeadOnly && !o.Earlier && o.Status == 0:
		return ReasonHeadOnly, true
	}
	return ReasonProcessed, false
}
