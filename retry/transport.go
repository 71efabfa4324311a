package retry

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// A Transport is an http.RoundTripper that gives requests to Base and sends them again
// when its Policy allows it. The zero Transport works, over http.DefaultTransport. It's
// safe for concurrent use, and must not be copied after its first use.
type Transport struct {
	// Base makes the attempts: best a *pool.Transport, as it reports how far a request
	// got; else an *http.Transport that dials by a pool.Guard or a dialer.Dialer, whose
	// connections count the bytes that they accept. What wraps one of these hides that: wrap
	// this Transport instead. A *pool.Error or *dialer.Error in Base's error has to be
	// about the request that Base was given, not about another one that was made on its
	// behalf after it was sent. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Policy is read once, at the first request. Zero: Default's rules.
	Policy Policy

	once   sync.Once
	policy Policy // Policy as it was at the first request

	// uncounted is how many of Base's connections had no count of their bytes; negative
	// once one had. See evidence.go.
	uncounted atomic.Int32
}

// RoundTrip sends the request, and sends it again as the Policy says. The caller gets
// the last attempt's answer or error exactly as Base returned it. The one exception is a
// *StoppedError: a retry was due, and the context or the request's body prevented it.
// RoundTrip blocks while it waits between attempts; the end of the request's context
// ends that at once, and it doesn't begin to wait when the deadline would come first.
//
// A next attempt prefers another address of the host than those on which the ones before have
// failed, where Base is a *pool.Transport (see pool.AvoidAddr).
//
// The first attempt is req itself, but over an *http.Transport a shallow copy of it with a
// trace of its own beside the caller's. A later one is a shallow copy with a body from
// GetBody. A body without GetBody that is an io.Seeker (an *os.File, say) is lent to each
// attempt, rewound to where it stood as soon as no Read of it is under way, and closed
// once, after the last one. An answer's Request is req.
func (t *Transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	t.once.Do(t.prepare)
	body := bodyOf(req, &t.policy)
	defer func() { body.release(err != nil) }()
	attempt := body.first()
	for retry, resent := 0, 0; ; retry++ {
		sent, evidence := t.gather(attempt)
		resp, err = t.attempt(sent)
		if err == nil && !slices.Contains(t.policy.RetryStatuses, resp.StatusCode) {
			return answer(resp, sent, req), nil
		}
		o := observe(req, resp, err)
		evidence.weigh(&o)
		resent += o.Retry
		o.Retry, o.BodyReplayable = retry+resent, body.replayable()
		v := t.policy.Decide(o)
		if !v.Retry {
			return answer(resp, sent, req), err
		}
		delay := max(t.policy.delay(retry+1), v.After)
		if !fits(req, delay) {
			return answer(resp, sent, req), err
		}
		if attempt, err = again(&body, attempt, resp, err, delay); err != nil {
			return nil, err
		}
	}
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

// An attempter is a Base that can leave to its caller what it would send again by itself:
// *pool.Transport.
type attempter interface {
	Attempt(*http.Request) (*http.Response, error)
}

func (t *Transport) attempt(req *http.Request) (*http.Response, error) {
	if a, ok := t.base().(attempter); ok {
		return a.Attempt(req)
	}
	return t.base().RoundTrip(req)
}

func (t *Transport) prepare() { t.policy = t.Policy.clone() }

// answer makes resp look as if the caller's own request had been sent.
func answer(resp *http.Response, sent, req *http.Request) *http.Response {
	if resp != nil && resp.Request == sent {
		resp.Request = req
	}
	return resp
}
