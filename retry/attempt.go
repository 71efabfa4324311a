package retry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/connwise/pool"
)

// An attempt is one sending of a request.
type attempt struct {
	sent  *http.Request // what Base was given
	began time.Duration // clock
	note  *tracker      // of its connections; may be nil
	limit *limit        // of its time; nil: none
	resp  *http.Response
	err   error
}

// send gives the request to Base, with what belongs to this attempt alone.
func (c *call) send(req *http.Request) attempt {
	a := attempt{sent: req, began: c.began}
	if retry := c.retries(); retry > 0 {
		a.began = clock()
		a.sent = a.sent.WithContext(context.WithValue(a.sent.Context(), resendKey{}, retry))
	}
	if c.policy.maxRetries() > 0 {
		a.sent, a.note = c.t.track(a.sent, c.retries() > 0)
	}
	if c.t.BeforeAttempt != nil {
		if a.sent, a.err = c.announce(a.sent); a.err != nil {
			return a
		}
	}
	a.sent, a.limit = c.limited(a.sent)
	a.resp, a.err = c.t.attempt(a.sent)
	if a.resp == nil && a.err == nil {
		a.err = fmt.Errorf("retry: %T returned neither an answer nor an error", c.t.base())
	}
	a.limit.answered(&a)
	return a
}

// trail is what the attempt's connections show. If its context has ended that they are untouched shows
// nothing: net/http returns then, over HTTP/2, although the request may yet be written.
func (a *attempt) trail(req *http.Request) trail {
	t := a.note.trail()
	if t == trailUntouched && (a.limit.fired() || over(req) != nil) {
		return trailUsed
	}
	return t
}

// An attempter can leave to its caller what it would send again by itself: *pool.Transport. The
// type itself, as what embeds one may have a RoundTrip of its own to go by.
type attempter interface {
	Attempt(*http.Request) (*http.Response, error)
}

func (t *Transport) attempt(req *http.Request) (*http.Response, error) {
	if t.pool != nil {
		return t.pool.Attempt(req)
	}
	return t.base().RoundTrip(req)
}

// announce has BeforeAttempt called: by a *pool.Transport, or else now.
func (c *call) announce(req *http.Request) (*http.Request, error) {
	hook, retry := c.t.BeforeAttempt, c.retries()
	r := req.WithContext(req.Context())
	if r.Header = req.Header.Clone(); r.Header == nil {
		r.Header = make(http.Header)
	}
	if c.t.pool != nil {
		return r.WithContext(pool.WithBeforeSend(req.Context(), func(sent *http.Request) error { return hook(sent, retry) })), nil
	}
	return r, ask(hook, r, retry)
}

// ask calls the hook where no pool does. A veto is the same error as a pool's. The body is then
// closed, as by a RoundTripper, and so it is if the hook panics.
func ask(hook func(*http.Request, int) error, r *http.Request, retry int) error {
	passed := false
	defer func() {
		if !passed && r.Body != nil {
			r.Body.Close()
		}
	}()
	if err := hook(r, retry); err != nil {
		veto := &pool.CallerError{Source: pool.CallerHook, Err: err}
		return &pool.Error{Phase: pool.PhaseUnsent, Host: hostOf(r), Err: veto}
	}
	passed = true
	return nil
}

// abandon closes the answer that nobody gets.
func (a *attempt) abandon() {
	if a.resp != nil && a.resp.Body != nil {
		a.resp.Body.Close()
	}
}

// hostOf is what an error names where no pool does.
func hostOf(req *http.Request) string {
	if req.URL == nil {
		return req.Host
	}
	return req.URL.Host
}

// record is the attempt as a report has it.
func (a *attempt) record(o *Outcome) Attempt {
	r := Attempt{
		Phase: o.Phase, Evidence: o.evidence(), Status: o.Status, Err: a.err,
		Start: epoch.Add(a.began), Took: clock() - a.began,
	}
	if r.Evidence.Unprocessed() {
		r.Proof = proofOf(o.Phase, a.err)
	}
	if e, ok := errors.AsType[*pool.Error](a.err); ok {
		r.Addr, r.Proto, r.Reused = e.Addr, e.Proto, e.Reused
	} else {
		r.Addr, r.Reused = a.note.conn()
	}
	if a.resp != nil {
		r.Proto = a.resp.Proto
	}
	return r
}

// statusError is what stands for an answer that is discarded.
func statusError(resp *http.Response) *StatusError {
	d, _ := retryAfter(resp.Header, time.Now())
	return &StatusError{Status: resp.StatusCode, RetryAfter: d}
}
