package retry

import (
	"context"
	"errors"
	"io"
	"net/http"

	"example.com/connwise/pool"
)

// A body gives the attempts of one call their requests and bodies. There are four kinds:
//
//   - With GetBody each attempt has a copy (copies.go).
//   - One that is an io.Seeker is lent to one attempt after the other, and rewound between
//     them (lender.go).
//   - Any other can be had once. It is lent too, but no more once an attempt has read from it.
//   - The exception are readers of memory behind an io.NopCloser over a *pool.Transport:
//     those are left as they are (kept.go).
type body struct {
	req    *http.Request // the caller's, never changed
	lent   *lender       // nil: it isn't
	copies *copies       // nil: none are made, or the Content-Length says how long they are
	checks bool          // Base is a pool: it compares that with the body
	kept   kept
}

var errNoCopy = errors.New("retry: GetBody returned no body")

// bodyOf looks at the request's body without touching it. A policy that never retries leaves
// it alone altogether.
func bodyOf(req *http.Request, p *Policy, pooled bool) body {
	b := body{req: req}
	if !hasBody(req) || p.maxRetries() == 0 {
		return b
	}
	if req.GetBody != nil {
		if req.ContentLength <= 0 {
			b.copies = newCopies(req)
		} else {
			b.checks = pooled
		}
		return b
	}
	seek, _ := req.Body.(io.Seeker)
	if seek == nil {
		if p.LeaveOneShot {
			return b
		}
		if b.kept = keep(req.Body, pooled); b.kept.from != nil {
			return b
		}
	}
	b.lent = newLender(req, seek, p.LeaveOneShot)
	return b
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// replayable reports whether next can give the body from its start, now that an attempt has
// ended with err; nil stands for an answer, behind which the upload may go on. After an error the
// attempt can't read from the body any more.
func (b *body) replayable(err error) bool {
	switch {
	case !hasBody(b.req) || b.req.GetBody != nil:
		return true
	case b.lent != nil:
		return b.lent.replayable(err != nil)
	}
	return b.kept.replayable(err)
}

// first returns the first attempt: the caller's request, or a shallow copy with its body lent
// or measured.
func (b *body) first() *http.Request {
	switch {
	case b.lent != nil:
		return &b.lent.req
	case b.copies != nil:
		return &b.copies.req
	}
	return b.req
}

// next returns a later attempt, with a context made of the caller's: its values and trace remain.
// A *pool.CallerError has what GetBody or Seek returned. The end of whole, which is the request
// itself, ends the wait for a Read that is under way.
func (b *body) next(ctx context.Context, whole *http.Request) (*http.Request, error) {
	rc, err := b.again(whole)
	if err != nil {
		return nil, err
	}
	r := b.req.WithContext(ctx)
	r.Body = rc
	return r, nil
}

func (b *body) again(whole *http.Request) (io.ReadCloser, error) {
	switch {
	case !hasBody(b.req):
		return b.req.Body, nil
	case b.req.GetBody != nil:
		return b.copy()
	case b.lent != nil:
		n, err := b.lent.next(whole)
		if err != nil {
			return nil, err
		}
		return n, nil
	}
	return b.kept.rewound(b.req.Body), nil
}

// copy asks for a copy. None at all would go out as an empty body.
func (b *body) copy() (io.ReadCloser, error) {
	rc, err := b.req.GetBody()
	if err == nil && (rc == nil || rc == http.NoBody && b.copies == nil) {
		err = errNoCopy
	}
	if err != nil {
		return nil, callerBody(err)
	}
	switch {
	case b.copies != nil:
		return &measured{ReadCloser: rc, by: &b.copies.measure}, nil
	case b.checks:
		return rc, nil
	}
	return ofLength(rc, b.req.ContentLength), nil
}

// release tells that the last attempt has returned. With failed, as after an error, nobody
// reads the body any more; behind an answer, the upload may go on.
func (b *body) release(failed bool) {
	if b.lent != nil {
		b.lent.release(failed)
	}
}

func callerBody(err error) error {
	return &pool.CallerError{Source: pool.CallerBody, Err: err}
}
