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

// An endedError is a context's error and its cause: a caller who gave a cause must still
// find that it was the context, and whether that was a deadline.
type endedError struct{ err, cause error }

func (e *endedError) Error() string   { return e.cause.Error() }
func (e *endedError) Unwrap() []error { return []error{e.err, e.cause} }
func (e *endedError) Timeout() bool   { return errors.Is(e.err, context.DeadlineExceeded) }
func (e *endedError) Temporary() bool { return e.Timeout() }
