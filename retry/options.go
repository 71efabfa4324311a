package retry

import (
	"context"
	"net/http"
	"time"

	"example.com/connwise/pool"
)

type (
	policyKey     struct{}
	reportKey     struct{}
	reportOfKey   struct{}
	idempotentKey struct{}
	resendKey     struct{}
)

// WithPolicy returns a context whose requests follow p in place of their Transport's Policy: Off()
// switches retries off for a call, and any other on where they are off. p must not be changed
// afterwards.
func WithPolicy(ctx context.Context, p Policy) context.Context {
	return context.WithValue(ctx, policyKey{}, &p)
}

// WithReport returns a context whose request fills r. A nil r takes the report of an
// outer WithReport away.
func WithReport(ctx context.Context, r *Report) context.Context {
	return context.WithValue(ctx, reportKey{}, r)
}

// WithIdempotent returns a context whose request may be executed twice: every policy
// that isn't restricted to other Methods may send it again although it may have been
// processed. It is for writes that are idempotent by contract.
func WithIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

// ResendCount returns how often the request to which ctx belongs had been sent before, if it is
// an attempt that a Transport gave to its Base: zero for the first. It's what
// OpenTelemetry calls http.request.resend_count.
func ResendCount(ctx context.Context) int {
	n, _ := ctx.Value(resendKey{}).(int)
	return n
}

// policyOf returns the policy that req goes by.
func (t *Transport) policyOf(req *http.Request) *Policy {
	if p, ok := req.Context().Value(policyKey{}).(*Policy); ok {
		return p
	}
	return &t.policy
}

// readsLong reports whether the request has a read timeout of its own (pool.WithReadTimeout)
// that is longer than Base's. If Base doesn't say what it has, it counts as longer; an
// *http.Transport knows nothing of it.
func (t *Transport) readsLong(req *http.Request) bool {
	own, ok := pool.ReadTimeout(req.Context())
	if !ok {
		return false
	}
	switch base := t.base().(type) {
	case *http.Transport:
		return false
	case interface{ ReadTimeout() time.Duration }:
		usual := base.ReadTimeout()
		return usual > 0 && (own <= 0 || own > usual)
	}
	return true
}

func optIn(req *http.Request) OptIn {
	switch {
	case req.Context().Value(idempotentKey{}) != nil:
		return OptInCall
	case hasIdempotencyKey(req):
		return OptInHeader
	}
	return OptInNone
}

// hasIdempotencyKey counts an empty slice, as net/http does, and not nil, by which fields are
// switched off.
func hasIdempotencyKey(req *http.Request) bool {
	return req.Header["Idempotency-Key"] != nil || req.Header["X-Idempotency-Key"] != nil
}
