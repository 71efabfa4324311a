package retry

import (
	"io"
	"net/http"

	"example.com/connwise/pool"
)

// A body gives the attempts of one call their requests and bodies.
type body struct {
	req  *http.Request // the caller's, never changed
	lend *lender       // non-nil: the body has no GetBody, but can be rewound
}

// bodyOf looks at the request's body without reading from it. A policy that never
// retries leaves the body alone altogether.
func bodyOf(req *http.Request, p *Policy) body {
	b := body{req: req}
	if hasBody(req) && req.GetBody == nil && p.maxRetries() > 0 {
		b.lend = newLender(req.Body)
	}
	return b
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// replayable reports whether next can give the body from its start.
func (b *body) replayable() bool {
	return !hasBody(b.req) || b.req.GetBody != nil || b.lend != nil
}

// first returns the first attempt: the caller's request, but for a lent body.
func (b *body) first() *http.Request {
	if b.lend == nil {
		return b.req
	}
	return withBody(b.req, b.lend.loan())
}

// next returns a later attempt. A *pool.CallerError has what GetBody or Seek returned.
func (b *body) next() (*http.Request, error) {
	switch {
	case !hasBody(b.req):
		return withBody(b.req, b.req.Body), nil
	case b.lend != nil:
		l, err := b.lend.rewind(b.req)
		if err != nil {
			return nil, err
		}
		return withBody(b.req, l), nil
	}
	rc, err := b.req.GetBody()
	if err != nil {
		return nil, &pool.CallerError{Source: pool.CallerBody, Err: err}
	}
	return withBody(b.req, rc), nil
}

// release tells that the last attempt has returned. After an error nobody reads the
// body any more; with an answer, the upload may go on.
func (b *body) release(failed bool) {
	if b.lend != nil {
		b.lend.release(failed)
	}
}

// withBody returns a shallow copy of the request, with the same context: the caller's
// values and trace remain.
func withBody(req *http.Request, rc io.ReadCloser) *http.Request {
	r := req.WithContext(req.Context())
	r.Body = rc
	return r
}
