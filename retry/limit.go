package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
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
	over            atomic.Bool // it has fired
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
			d, l.cause = left, &TimeoutError{Field: "CallTimeout", After: p.CallTimeout}
		}
	}
	l.Context, l.cancel = context.WithCancelCause(req.Context())
	l.timer = time.AfterFunc(d, l.fire)
	return req.WithContext(l), l
}

func (l *limit) fire() {
	l.over.Store(true)
	l.cancel(l.cause)
}

// Err returns context.DeadlineExceeded if the limit has ended the context: to whoever gets it
// it is a deadline.
func (l *limit) Err() error {
	err := l.Context.Err()
	if err != nil && context.Cause(l.Context) == error(l.cause) {
		return context.DeadlineExceeded
	}
	return err
}

// fired reports whether the limit has ended the attempt.
func (l *limit) fired() bool {
	return l != nil && l.over.Load() && context.Cause(l.Context) == error(l.cause)
}

// answered is told of the attempt's end. What is left of the context ends with the answer's body.
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
	default:
		a.resp.Body = limitBody(a.resp.Body, l.cancel, !hasBody(a.sent))
	}
}

// A limitError is the error of a Base that doesn't say what ended the attempt.
type limitError struct {
	cause *TimeoutError
	err   error
}

func (e *limitError) Error() string   { return e.cause.Error() + ": " + e.err.Error() }
func (e *limitError) Unwrap() []error { return []error{e.cause, e.err} }
func (e *limitError) Timeout() bool   { return true }
func (e *limitError) Temporary() bool { return true }

// limitBody returns a body that ends the attempt's context when it is closed or has failed; and at
// its end, if nothing is sent any more then. An upload may go on behind the answer's end
// (HTTP/2), and so does what is written to a body after 101 Switching Protocols.
func limitBody(rc io.ReadCloser, cancel context.CancelCauseFunc, atEnd bool) io.ReadCloser {
	w, ok := rc.(io.Writer)
	b := &limitedBody{rc, cancel, atEnd && !ok}
	if !ok {
		return b
	}
	if half, ok := rc.(closeWriter); ok {
		return struct {
			*limitedBody
			io.Writer
			closeWriter
		}{b, w, half}
	}
	return struct {
		*limitedBody
		io.Writer
	}{b, w}
}

// A closeWriter can be closed for writing, and still be read.
type closeWriter interface{ CloseWrite() error }

type limitedBody struct {
	rc     io.ReadCloser
	cancel context.CancelCauseFunc
	atEnd  bool // io.EOF ends the context
}

// Read reads from the answer's body.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	if err != nil && (b.atEnd || err != io.EOF) {
		b.cancel(nil)
	}
	return n, err
}

// Close closes the answer's body.
func (b *limitedBody) Close() error {
	defer b.cancel(nil)
	return b.rc.Close()
}
