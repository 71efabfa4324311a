package retry

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"example.com/connwise/dialer"
)

// Timeouts says what a policy thinks of a time limit that was reached. The end of
// the request's own context is not meant: that is always final.
type Timeouts uint8

const (
	// TimeoutsUnprocessed: a timeout is retried when the request is provably
	// unprocessed (the limit of a dial, say). When it may have been processed it
	// isn't, whatever the method: a repeat would double the caller's worst case.
	TimeoutsUnprocessed Timeouts = iota
	// TimeoutsNever: no timeout is retried, that of a dial neither.
	TimeoutsNever
	// TimeoutsAlways: a timeout is a failure like any other.
	TimeoutsAlways
)

// A StageRule says whether a request is sent again when a stage of opening its connection
// has failed.
type StageRule uint8

const (
	StageRetry       StageRule = iota // as Policy.Timeouts says
	StageNotTimeouts                  // unless a time limit was reached
	StageNever
)

// NextConn says which connection a next attempt prefers. It's a preference: it never
// makes a request fail, or wait for longer than a dial. It takes a *pool.Transport: as Base, or
// below a wrapper that keeps the request's context and the *pool.Error.
type NextConn uint8

const (
	// NextElsewhere: one to another address than those on which the attempts before have failed
	// (see pool.AvoidAddr). If one was lost on a connection that had carried other requests
	// before, also one that was opened since (see pool.PreferFresh).
	NextElsewhere NextConn = iota
	// NextFresh: one that was opened since the attempt before, to another address.
	NextFresh
	// NextAny: whichever comes.
	NextAny
)

// A Policy says what is sent again, how often and when. The zero Policy has
// Default's rules. A Transport reads its Policy once, at its first request; later
// changes have no effect.
type Policy struct {
	// MaxRetries is how often a request is sent again after its first attempt.
	// Zero: 2. Negative: never.
	MaxRetries int
	// MaxRefused is how often a request that the peer refused without processing it
	// (pool.PhaseRefused) is sent again: an overloaded HTTP/2 server says so, and it costs it
	// little. Such retries count among the others. Zero: MaxRetries, or 3 if that is zero.
	// Negative: never.
	MaxRefused int
	// MaxUnsent is the same for a request that was never sent (PhaseWait, PhaseDial and
	// PhaseUnsent), and MaxMaybeSent for one that may have been processed. Zero: MaxRetries.
	// Negative: never.
	MaxUnsent, MaxMaybeSent int

	// Backoff returns how long to wait before retry n (1 is the first). Negative
	// counts as zero. It must be safe for concurrent use. Nil: Interval doubles with
	// every retry, up to MaxInterval, and is then lengthened by up to Spread of itself.
	Backoff func(retry int) time.Duration
	// Interval is the wait before the first retry. Zero: 100 ms.
	Interval time.Duration
	// MaxInterval bounds the wait before it is lengthened, and what a Backoff returns; zero: 10 s,
	// and with a Backoff no bound. WorstCase needs it where a Backoff is random.
	MaxInterval time.Duration
	// Spread is the largest share of a wait that is added at random, so that callers
	// that failed together don't come back together. Zero: 0.5. Negative: nothing is added.
	Spread float64
	// Jitter returns a number in [0, 1) for Spread. It must be safe for concurrent
	// use. Nil: math/rand/v2.
	Jitter func() float64

	// Methods are the only ones that are ever sent again. Nil: every method. Empty but not nil:
	// none.
	Methods []string
	// Repeatable are the methods that are sent again although the request may have
	// been processed. Nil: GET, HEAD and OPTIONS (safe by RFC 9110 section 9.2.1).
	// Empty but not nil: none.
	Repeatable []string
	// Timeouts says which timeouts are retried. Zero: TimeoutsUnprocessed.
	Timeouts Timeouts
	// Stages says which parts of opening a connection are sent again after a failure. A stage
	// that isn't in it, or nil: all are, timeouts as Timeouts says.
	Stages map[dialer.Stage]StageRule
	// RetryCapacity sends a request again that waited for a connection in vain
	// (pool.ErrWaitTimeout, pool.ErrTooManyWaiters). Zero: it isn't, as waiting once more
	// would only add load.
	RetryCapacity bool
	// LeaveOneShot gives one attempt to a request whose body can't be had again (no GetBody, no
	// io.Seeker), even if nobody has read from it. Zero: as long as it is untouched, it
	// goes with the next attempt.
	LeaveOneShot bool
	// NextConn says which connections the next attempt prefers. Zero: NextElsewhere.
	NextConn NextConn

	// AttemptTimeout bounds an attempt: from the call of Base until the answer's head is
	// there. The answer's body has no limit by it. An attempt that ends so counts as timed out in
	// the phase in which it was. Zero: none.
	AttemptTimeout time.Duration
	// CallTimeout bounds the call in the same way, waits included: the attempt that is under
	// way then ends, and no other begins. Zero: none.
	CallTimeout time.Duration

	// IgnoreIdempotencyKey makes an Idempotency-Key or X-Idempotency-Key header mean
	// nothing. Zero: either header makes the request as good as one of Repeatable, as
	// in net/http. WithIdempotent counts in any case.
	IgnoreIdempotencyKey bool

	// ResendHeadOnly sends a request again, whatever its method, of which no more than the head
	// was sent, as its body waited for the peer's 100 Continue and the connection ended
	// (pool.Error.HeadOnly; pool.Config.ConfirmAfter makes for it). It's an opt-in, because the
	// origin can see the head twice: of ten proxies, six pass the head on before they have the
	// body, so that a handler may have begun, and may have acted on the head alone. No origin
	// gets the body twice. One that can't be rewound was untouched, and goes with the next
	// attempt (but see LeaveOneShot). Zero: off, as in all presets.
	ResendHeadOnly bool

	// RetryStatuses are the statuses of answers that are retried, for Repeatable
	// methods and opted-in requests, if the answer has a valid Retry-After (RFC 9110
	// section 10.2.3, either form). The wait is then at least what it says. Nil: no answer is.
	RetryStatuses []int
	// MaxRetryAfter bounds the Retry-After that is waited for. An answer that asks for
	// more is returned at once: to come back earlier than asked would help nobody.
	// Zero: 30 s.
	MaxRetryAfter time.Duration
}

const (
	defaultRetries     = 2
	defaultRefused     = 3
	defaultInterval    = 100 * time.Millisecond
	defaultMaxInterval = 10 * time.Second
	defaultSpread      = 0.5
	defaultRetryAfter  = 30 * time.Second
)

// safeMethods is Repeatable's default. TRACE is safe too, but nobody asked for it.
var safeMethods = []string{http.MethodGet, http.MethodHead, http.MethodOptions}

func (p *Policy) maxRetries() int {
	if p.MaxRetries == 0 {
		return defaultRetries
	}
	return max(p.MaxRetries, 0)
}

// limit is how often a request whose attempt failed with that evidence may have been sent again.
func (p *Policy) limit(e Evidence) int {
	own := p.MaxMaybeSent
	switch e {
	case EvidenceNeverSent:
		own = p.MaxUnsent
	case EvidenceRefused:
		own = p.MaxRefused
	}
	switch {
	case p.MaxRetries < 0 || own == 0 && (e != EvidenceRefused || p.MaxRetries != 0):
		return p.maxRetries()
	case own == 0:
		return defaultRefused
	}
	return max(own, 0)
}

func (p *Policy) covers(method string) bool {
	return p.Methods == nil || slices.Contains(p.Methods, method)
}

func (p *Policy) repeatable(method string) bool {
	if p.Repeatable == nil {
		return slices.Contains(safeMethods, method)
	}
	return slices.Contains(p.Repeatable, method)
}

func (p *Policy) retriesStatus(status int) bool {
	return len(p.RetryStatuses) > 0 && slices.Contains(p.RetryStatuses, status)
}

func (p *Policy) maxRetryAfter() time.Duration {
	return orDefault(p.MaxRetryAfter, defaultRetryAfter)
}

// delay is how long to wait before the given retry, 1 being the first.
func (p *Policy) delay(retry int) time.Duration {
	if p.Backoff != nil {
		d := max(p.Backoff(retry), 0)
		if p.MaxInterval > 0 {
			d = min(d, p.MaxInterval)
		}
		return d
	}
	limit := orDefault(p.MaxInterval, defaultMaxInterval)
	d := min(orDefault(p.Interval, defaultInterval), limit)
	for ; retry > 1 && d < limit; retry-- {
		if d > limit/2 { // doubling would pass the limit, or overflow
			d = limit
			break
		}
		d *= 2
	}
	return max(d, d+time.Duration(p.spread()*p.jitter()*float64(d))) // max: the sum may overflow
}

func (p *Policy) spread() float64 {
	if p.Spread == 0 {
		return defaultSpread
	}
	return max(p.Spread, 0)
}

func (p *Policy) jitter() float64 {
	if p.Jitter == nil {
		return rand.Float64()
	}
	return p.Jitter()
}

// clone returns a copy that shares no slice or map with p.
func (p *Policy) clone() Policy {
	c := *p
	c.Methods = slices.Clone(p.Methods)
	c.Repeatable = slices.Clone(p.Repeatable)
	c.RetryStatuses = slices.Clone(p.RetryStatuses)
	c.Stages = maps.Clone(p.Stages)
	return c
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}
