package retry

import (
	"net/http"
	"sync"
	"sync/atomic"

	"example.com/connwise/pool"
)

// A Transport is an http.RoundTripper that gives requests to Base and sends them again
// when its Policy allows it. The zero Transport works, over http.DefaultTransport. It's
// safe for concurrent use, and must not be copied after its first use. Its fields must not be
// changed after that.
type Transport struct {
	// Base makes the attempts: best a *pool.Transport, as it reports how far a request
	// got; else an *http.Transport that dials by a pool.Guard or a dialer.Dialer, whose
	// connections count the bytes that they accept. What wraps or embeds a pool is asked by its
	// RoundTrip, and its errors say as much; what wraps an *http.Transport hides its connections:
	// wrap this Transport instead. Of any other, the types of dial errors are believed, and nothing
	// else: a *pool.Error, *dialer.Error, *net.OpError of a dial or *net.DNSError in its error has
	// to be about the request that it was given, not about another one that was made on its
	// behalf after it was sent. What an http.Client in Base met (*url.Error) isn't believed: it may
	// have followed a redirect. One Transport over another does harm only: both go by the same
	// context, so that reports add up. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Policy is read once, at the first request. Zero: Default's rules. WithPolicy replaces it
	// for a call.
	Policy Policy
	// Budget bounds the retries of all calls together, so that a server which is in trouble
	// doesn't get several times its load. Several Transports may share one. A failure that
	// would be retried, but for the budget, is returned at once. Nil: one of this
	// Transport's own, with the defaults.
	Budget *Budget

	// BeforeAttempt is called before each attempt, the first one (retry 0) included, on the
	// goroutine of RoundTrip. Over a *pool.Transport that is after a connection was checked out
	// and before the first byte is written, and again if the pool replaces the connection; over
	// another Base, a pool's wrapper too, it is before Base is called. So over a pool an attempt
	// that gets no connection, or one that proves to be closed, is not announced. An error
	// vetoes the attempt: nothing of it is
	// sent, no other is made, and the error is found in a *pool.CallerError. It may set headers
	// of req, which is a copy for this attempt with headers of its own: a signature that has
	// expired is made anew or never sent.
	BeforeAttempt func(req *http.Request, retry int) error
	// OnDecision is called with each decision about a failure, or about an answer whose status
	// is in RetryStatuses, on the goroutine of RoundTrip, before the wait. Calls that succeed at
	// once have none.
	OnDecision func(Decision)

	once   sync.Once
	policy Policy    // Policy as it was at the first request
	budget *Budget   // Budget, or its own
	pool   attempter // Base, if it is a *pool.Transport
	counts counts

	// uncounted is how many of Base's connections had no count of their bytes; negative
	// once one had. See tracker.go.
	uncounted atomic.Int32
}

// RoundTrip sends the request, and sends it again as the Policy says. If it is sent once, the
// caller gets the answer or error exactly as Base returned it; else a failure is an *Error
// around the last attempt's, and an answer is the last attempt's, with the call's report
// (ReportOf). If a retry was due, and the context or the request's body prevented it, there is a
// *StoppedError. RoundTrip blocks while it waits between attempts; the end of the request's context
// ends that at once, and it doesn't begin to wait when the deadline would come first.
//
// A next attempt prefers another address of the host than those on which the ones before have
// failed, and other connections, as Policy.NextConn says, where there is a *pool.Transport below.
//
// The first attempt is req itself; or a shallow copy of it if it needs a context of its own
// (over an *http.Transport, with Policy.AttemptTimeout or CallTimeout), a body that can be
// lent, or headers for BeforeAttempt. A later one is a shallow copy with a body from
// GetBody. A body without GetBody is lent: to each attempt if it is an io.Seeker (an *os.File,
// say), rewound to where it stood as soon as no Read of it is under way; else to the next one
// as long as nobody has read from it. It is closed once, after the last attempt; what can't be
// rewound, by the attempt that has read from it. A body that has become shorter since the
// attempt before ends the call with an error. An answer's Request is req, or, if it was sent again,
// a shallow copy.
func (t *Transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	t.once.Do(t.prepare)
	t.budget.note()
	c := call{t: t, req: req, policy: t.policyOf(req), began: clock()}
	c.body = bodyOf(req, c.policy, t.pool != nil)
	defer func() { c.body.release(resp == nil || err != nil) }() // also if Base panics
	first := c.body.first()
	a := c.send(first)
	if c.succeeded(&a) {
		return forCaller(&a, req), nil
	}
	return c.goOn(first, &a)
}

// CloseIdleConnections calls Base's method of that name, if it has one.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport) prepare() {
	t.policy = t.Policy.clone()
	if p, ok := t.Base.(*pool.Transport); ok {
		t.pool = p
	}
	if t.budget = t.Budget; t.budget == nil {
		t.budget = new(Budget)
	}
}
