package retry

import (
	"fmt"
	"net/http"
	"time"
)

// A StoppedError is the end of a call whose next attempt was due and could not be made:
// the request's context ended during the wait, or its body could not be had again.
// errors.Is and errors.As find both: why it stopped, and how the last attempt had failed.
type StoppedError struct {
	// Err is the context's error, with its cause, or a *pool.CallerError with what
	// GetBody or Seek returned.
	Err error
	// Last is the last attempt's own error, or a *StatusError for an answer.
	Last error
}

// Error names both errors.
func (e *StoppedError) Error() string {
	return "retry: no further attempt: " + e.Err.Error() + " (last attempt: " + e.Last.Error() + ")"
}

// Unwrap returns Err and Last, in this order.
func (e *StoppedError) Unwrap() []error { return []error{e.Err, e.Last} }

// Timeout reports whether a time limit ended the wait. How the last attempt ended doesn't
// matter: its own Timeout method tells.
func (e *StoppedError) Timeout() bool { return timedOut(e.Err) }

// Temporary is what net.Error asks for. It reports the same as Timeout.
func (e *StoppedError) Temporary() bool { return e.Timeout() }

// A StatusError stands in a Report for an answer that was discarded and retried.
type StatusError struct {
	Status     int
	RetryAfter time.Duration // how long the answer asked to wait
}

// Error names the status and the wait.
func (e *StatusError) Error() string {
	return fmt.Sprintf("retry: answered %d %s, asked to wait %v", e.Status, http.StatusText(e.Status), e.RetryAfter)
}
