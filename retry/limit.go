package retry

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"example.com/connwise/pool"
)

// A limit is the time that the policy gives an attempt until its answer's head is there. It's
// the attempt's context: http.Transport and pool.Transport end what they do when it ends. A
// context of package context wouldn't do: its deadline can't be called off, and the
// answer's body has no limit.
type limit struct {
	context.Context // can be cancelled
	cancel          context.CancelCauseFunc
	timer           *time.Timer
	cause           *TimeoutError
	over            atomic.Bool // it has fired, or can't any more: the answer was there first
}

// limited returns the request with a limit, if the policy has one.
func (c *call) limited(req *http.Request) (*http.Request, *limit) {
	p := c.policy
	if p.AttemptTimeout <= 0 && p.CallTimeout <= 0 {
		return req, nil
	}
	l := &limit{cause: &TimeoutError{Field: "AttemptTimeout", After: p.AttemptTimeout}}
	d := p.AttemptTimeout
	if p.CallTimeout > 0 {
		if left := max(c.left(), 0); d <= 0 || left < d {
			d, l.cause = left, p.callTimeout()
		}
	}
	l.Context, l.cancel = context.WithCancelCause(req.Context())
	l.timer = time.AfterFunc(d, l.fire)
	return req.WithContext(l), l
}

// callTimeout is how a call ends by CallTimeout.
func (p *Policy) callTimeout() *TimeoutError {
	return &TimeoutError{Field: "CallTimeout", After: p.CallTimeout}
}

func (l *limit) fire() {
	if l.over.CompareAndSwap(false, true) {
		l.cancel(l.cause)
	}
}

// Err returns context.DeadlineExceeded if the limit has ended the context: to whoever gets it
// it is a deadline.
func (l *limit) Err() error {
	err := l.Context.Err()
	if err != nil && l.fired() {
		return context.DeadlineExceeded
	}
	return err
}

// fired reports whether the limit has ended the attempt.
func (l *limit) fired() bool {
	return l != nil && context.Cause(l.Context) == error(l.cause)
}

// answered is told of the attempt's end. What is left of the context ends with the answer's body.
// An answer that came at the moment when the limit fired is too late: its body is cut.
func (l *limit) answered(a *attempt) {
	if l == nil {
		return
	}
	l.timer.Stop()
	switch {
	case a.err != nil:
		if _, told := errors.AsType[*TimeoutError](a.err); !told && l.fired() {
			a.err = &limitError{cause: l.cause, err: a.err}
		}
		l.cancel(nil)
	case a.resp.Body == nil || a.resp.Body == http.NoBody:
		l.cancel(nil)
	case l.tooLate():
		a.resp.Body.Close()
		a.err = &pool.Error{Phase: pool.PhaseResponse, Host: hostOf(a.sent), Proto: a.resp.Proto, Err: l.cause}
		a.resp = nil
	default:
		a.resp.Body = limitBody(a.resp.Body, l.cancel, !hasBody(a.sent))
	}
}

// tooLate reports whether the limit has fired. If not it won't any more.
func (l *limit) tooLate() bool {
	if l.over.CompareAndSwap(false, true) {
		return false
	}
	l.cancel(l.cause) // fire may not have come to it yet
	return l.fired()  // and not the caller
}

// A limitError is the error of a Base that doesn't say what ended the attempt. What it has for the
// end of a context isn't found in it: a context that was made of the attempt's was cancelled, and
// nobody has cancelled the call.
type limitError struct {
	cause *TimeoutError
	err   error
}

func (e *limitError) Error() string      { return e.cause.Error() + ": " + e.err.Error() }
func (e *limitError) Unwrap() error      { return e.cause }
func (e *limitError) As(target any) bool { return errors.As(e.err, target) }
func (e *limitError) Is(target error) bool {
	return target != context.Canceled && errors.Is(e.err, target)
}
func (e *limitError) Timeout() bool   { return true }
func (e *limitError) Temporary() bool { return true }
