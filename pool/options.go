package pool

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// options are what a request asks for by its context, but for AvoidAddr, which package dialer
// knows of too. They are one value, so that a request that asks for nothing pays for one look,
// and never change.
type options struct {
	fresh       time.Time                 // when PreferFresh was called last; zero: never
	readTimeout time.Duration             // zero: as configured; negative: no limit
	beforeSend  func(*http.Request) error // nil: none
}

type optionsKey struct{}

var noOptions options

// optionsOf are ctx's options. The caller must not change them.
func optionsOf(ctx context.Context) *options {
	if o, ok := ctx.Value(optionsKey{}).(*options); ok {
		return o
	}
	return &noOptions
}

// withOptions is ctx with its options as change makes them.
func withOptions(ctx context.Context, change func(*options)) context.Context {
	o := *optionsOf(ctx)
	change(&o)
	return context.WithValue(ctx, optionsKey{}, &o)
}

// WithReadTimeout returns a context whose requests have limits of their own for reading the
// answer: its head may take d after the request was written, in place of
// Base.ResponseHeaderTimeout, and each Read of its body may wait for d, in place of
// Config.ReadStallTimeout. The errors are the same as with those. Negative: no limit. Zero: as
// configured, also within a context that says something else. The last call counts.
//
// Like what it stands for it is no limit on the whole request, and not on what comes before (the
// wait for a connection, dialling, writing) or after an answer by 101 Switching Protocols.
func WithReadTimeout(ctx context.Context, d time.Duration) context.Context {
	return withOptions(ctx, func(o *options) { o.readTimeout = d })
}

// ReadTimeout returns what WithReadTimeout has said for ctx. ok is false if nothing was said, or
// zero, so that the configured limits are in force.
func ReadTimeout(ctx context.Context) (d time.Duration, ok bool) {
	d = optionsOf(ctx).readTimeout
	return d, d != 0
}

// ReadTimeout returns how long an answer's head may take after the request was written, if the
// request's context says nothing else (WithReadTimeout): Base.ResponseHeaderTimeout. Zero: no
// limit.
func (t *Transport) ReadTimeout() time.Duration { return t.set.h1.HeaderTimeout }

// WithBeforeSend returns a context with whose requests f is called as Config.BeforeSend is, and
// after that: when the request has its connection, before its first byte, on the goroutine of
// RoundTrip. It is given the request that RoundTrip was given, and may set header fields of it if
// the caller owns it (but none that chose its connection or its body's framing: Upgrade,
// Connection, Expect, Content-Length). An error vetoes the request, which stays unsent: RoundTrip
// returns it in a *CallerError, with PhaseUnsent, and the connection goes to the next request.
//
// It is called again if the connection has to be replaced. If ctx has a hook already, that is
// called first, and f only if that returns nil. A nil f changes nothing.
func WithBeforeSend(ctx context.Context, f func(*http.Request) error) context.Context {
	if f == nil {
		return ctx
	}
	return withOptions(ctx, func(o *options) {
		first := o.beforeSend
		o.beforeSend = f
		if first == nil {
			return
		}
		o.beforeSend = func(req *http.Request) error {
			if err := first(req); err != nil {
				return err
			}
			return f(req)
		}
	})
}

// beforeSend calls the hooks, the transport's first, and looks at what they have made of the
// header.
func (c *call) beforeSend() error {
	all := [...]func(*http.Request) error{c.t.set.BeforeSend, c.opts.beforeSend}
	for _, f := range all {
		if f == nil {
			continue
		}
		if err := f(c.req); err != nil {
			return &CallerError{CallerHook, err}
		}
		if bad := invalidField(c.req.Header, c.req.Method == http.MethodConnect); bad != "" {
			return &CallerError{CallerHook, errors.New("pool: BeforeSend has set an invalid header " + bad)}
		}
	}
	return nil
}
