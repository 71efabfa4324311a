package retry

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// An Error is the failure of a call that was retried. errors.Is and errors.As find in it what
// the last attempt returned, as they would without retries; what the attempts before met
// is in Report alone. A call of one attempt fails with that attempt's own error.
type Error struct {
	Report Report
	// Err is the last attempt's error as Base returned it, or a *StoppedError.
	Err error
}

// Error gives the last attempt's text, and in how many attempts which phases were reached before.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	before := e.Report.Attempts
	if _, stopped := e.Err.(*StoppedError); !stopped && len(before) > 0 {
		before = before[:len(before)-1] // its error is Err
	}
	retries := "1 retry"
	if n := e.Report.Retries; n > 1 {
		retries = fmt.Sprintf("%d retries", n)
	}
	fmt.Fprintf(&b, " (after %s; before:", retries)
	for i, a := range before {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte(' ')
		b.WriteString(a.text())
	}
	b.WriteByte(')')
	return b.String()
}

func (a *Attempt) text() string {
	if a.Status != 0 {
		return fmt.Sprintf("answered %d", a.Status)
	}
	return a.Phase.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Unprocessed reports whether it is proven of every attempt that no server has processed it.
// The last one's proof says nothing of those before: a GET that was executed, was sent again, and
// could not connect has been executed. False is no proof of the contrary.
func (e *Error) Unprocessed() bool {
	return e.Report.unprocessed()
}

// Timeout reports whether a time limit ended the last attempt, or the wait after it.
func (e *Error) Timeout() bool { return timedOut(e.Err) }

// Temporary is what net.Error asks for. It reports the same as Timeout.
func (e *Error) Temporary() bool { return e.Timeout() }

// A StoppedError is the end of a call whose next attempt was due and could not be made: the
// request's context or the policy's CallTimeout ended during the wait, or the body could not be
// had again. errors.Is and errors.As find both: how the last attempt had failed, and why it stopped.
type StoppedError struct {
	// Err is the context's error, with its cause (a *TimeoutError if it is CallTimeout), or a
	// *pool.CallerError with what GetBody or Seek returned.
	Err error
	// Last is the last attempt's own error, or a *StatusError for an answer.
	Last error

	unprocessed bool
}

// Error names both errors.
func (e *StoppedError) Error() string {
	return "retry: no further attempt: " + e.Err.Error() + " (last attempt: " + e.Last.Error() + ")"
}

// Unwrap returns Last and Err, in this order: a context's cause may be the error of another
// request, which says nothing of this one.
func (e *StoppedError) Unwrap() []error { return []error{e.Last, e.Err} }

// Unprocessed reports whether it is proven of every attempt that no server has processed it.
func (e *StoppedError) Unprocessed() bool { return e.unprocessed }

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

// A TimeoutError is the cause with which a policy's AttemptTimeout or CallTimeout ends an attempt.
// errors.Is finds context.DeadlineExceeded in it.
type TimeoutError struct {
	Field string // "AttemptTimeout" or "CallTimeout"
	After time.Duration
}

// Error names the setting and its value.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("retry: no answer within the policy's %s of %v", e.Field, e.After)
}

// Unwrap returns context.DeadlineExceeded.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// Timeout reports true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary reports true.
func (e *TimeoutError) Temporary() bool { return true }
