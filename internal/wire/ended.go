package wire

import (
	"context"
	"errors"
)

// Ended returns why ctx has ended: its error, and with a cause of the caller's own both,
// as an error that reads like the cause. It returns nil if ctx hasn't ended.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == err {
		return err
	}
	return &endedError{err: err, cause: cause}
}

// IsTimeout tells whether err says that it is a timeout, as net.Error does.
func IsTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// An endedError is a context's error and its cause: a caller who gave a cause must still
// find that it was the context, and whether that was a deadline: the context's, or one that the
// caller has kept and named as the cause.
type endedError struct{ err, cause error }

func (e *endedError) Error() string   { return e.cause.Error() }
func (e *endedError) Unwrap() []error { return []error{e.err, e.cause} }
func (e *endedError) Timeout() bool   { return IsTimeout(e.err) || IsTimeout(e.cause) }
func (e *endedError) Temporary() bool { return e.Timeout() }
