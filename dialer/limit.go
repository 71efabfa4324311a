package dialer

import (
	"context"
	"errors"
	"os"
	"time"
)

var limitNames = [...]string{
	StageResolve: "lookup",
	StageConnect: "connect",
	StageProxy:   "proxy",
	StageTLS:     "TLS handshake",
}

// A limitError is the cause when a stage has used up its time. It is os.ErrDeadlineExceeded
// to errors.Is, and not context.DeadlineExceeded: that one is the caller's own limit.
type limitError struct {
	stage Stage
	after time.Duration
}

func (e *limitError) Error() string {
	return limitNames[e.stage] + " timeout: not done within " + e.after.String()
}
func (e *limitError) Timeout() bool        { return true }
func (e *limitError) Temporary() bool      { return true }
func (e *limitError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// limit returns d, or def if d is zero, or 0 for no limit if d is negative.
func limit(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return max(d, 0)
}

// within returns a context that ends after d as well, with a *limitError as its cause.
// A d of zero sets no limit.
func within(ctx context.Context, stage Stage, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, &limitError{stage: stage, after: d})
}

// A endedError says that the caller's context ended. It is both the context's error and
// its cause to errors.Is and errors.As, and reads like the cause. It is a timeout if one of them
// is.
type endedError struct{ err, cause error }

func (e *endedError) Error() string   { return e.cause.Error() }
func (e *endedError) Unwrap() []error { return []error{e.err, e.cause} }
func (e *endedError) Timeout() bool   { return isTimeout(e.err) || isTimeout(e.cause) }
func (e *endedError) Temporary() bool { return e.Timeout() }

// because returns why a stage failed: the end of the caller's context, which is outer, or
// of the stage's time, which is in inner (made by within), before err, which in these
// cases is only a consequence.
func because(outer, inner context.Context, err error) error {
	// The descriptor's deadline may fire a moment before the context's timer that it was
	// set from.
	if at, ok := inner.Deadline(); ok && isTimeout(err) && !time.Now().Before(at) {
		select {
		case <-inner.Done():
		case <-time.After(time.Second): // a context of the caller's own making may not keep its word
		}
	}
	if e := ended(outer); e != nil {
		return e
	}
	if inner.Err() != nil {
		return context.Cause(inner)
	}
	return err
}

// ended returns an *endedError if ctx has ended, else nil.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &endedError{err: err, cause: context.Cause(ctx)}
	}
	return nil
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
