package wire

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrCanceled is why a request ended whose Cancel channel was closed.
var ErrCanceled = errors.New("connwise: request canceled")

// A RequestError says that a request can't be written as it is: no byte of it was
// sent, and none ever will be.
type RequestError struct{ Err error }

// Error returns the cause behind what it is about.
func (e *RequestError) Error() string { return "invalid request: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// ErrStale is why an exchange wasn't begun whose Request.Look has found that something has come:
// no byte of the request was sent.
var ErrStale = errors.New("connwise: something had come before the request")

// A BodyError wraps what the caller's request body did wrong: an error of its Read
// or Close, a panic in them, or a length that isn't the request's ContentLength.
type BodyError struct{ Err error }

// Error returns the cause behind what it is about.
func (e *BodyError) Error() string { return "request body: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *BodyError) Unwrap() error { return e.Err }

// LengthError says that a body had n bytes, or at least so many, where want were promised.
func LengthError(want, n int64) error {
	return &BodyError{fmt.Errorf("http: ContentLength=%d with Body length %d", want, n)}
}

// ErrExpectationFailed is why an exchange failed whose peer answered 417 to an expectation that
// the request itself didn't have (Request.Confirm). That "merely indicates that the response chain
// does not support expectations" (RFC 9110 section 10.1.1), and the request is to be repeated
// without. Nothing of the body was read or sent, unless the peer kept silent for too long first.
var ErrExpectationFailed = errors.New("the peer supports no expectations (417)")

// A HookError wraps the error with which a Got1xxResponse hook ended the exchange.
type HookError struct{ Err error }

// Error returns the cause behind what it is about.
func (e *HookError) Error() string { return "Got1xxResponse: " + e.Err.Error() }

// Unwrap returns the hook's error.
func (e *HookError) Unwrap() error { return e.Err }

// The values of TimeoutError.What.
const (
	WhatHeader     = "response header"
	WhatWriteStall = "write stall"
	WhatReadStall  = "read stall"
	WhatPing       = "ping"     // HTTP/2: the peer gave no sign of life
	WhatSettings   = "settings" // HTTP/2: the peer's first frame didn't come
)

// A TimeoutError says which of the limits ended an exchange. Like net/http's, it
// is found by errors.Is(err, context.DeadlineExceeded).
type TimeoutError struct {
	What  string        // WhatHeader, ...
	After time.Duration // the limit
}

// Error names the limit.
func (e *TimeoutError) Error() string {
	switch e.What {
	case WhatWriteStall:
		return fmt.Sprintf("write stall: the connection took nothing for %v", e.After)
	case WhatPing:
		return fmt.Sprintf("the peer answered no PING for %v", e.After)
	case WhatSettings:
		return fmt.Sprintf("the peer sent no SETTINGS for %v", e.After)
	case WhatReadStall:
		return fmt.Sprintf("read stall: nothing of the answer's body came for %v", e.After)
	}
	return fmt.Sprintf("timeout awaiting response headers: none for %v", e.After)
}

// Timeout reports true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary reports true, as net.Error's contract has it for timeouts.
func (e *TimeoutError) Temporary() bool { return true }

// Is makes the error match context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// A HeaderLimitError says that an answer's head, undelivered interim answers
// included, was longer than the limit.
type HeaderLimitError struct{ Limit int64 }

// Error names the limit in bytes.
func (e *HeaderLimitError) Error() string {
	return fmt.Sprintf("server response headers exceeded %d bytes; aborted", e.Limit)
}

// An InterimLimitError says that more interim (1xx) answers came than anybody needs.
type InterimLimitError struct{ Limit int }

// Error names the limit.
func (e *InterimLimitError) Error() string {
	return fmt.Sprintf("too many 1xx informational responses: more than %d", e.Limit)
}

// An AnswerError wraps a parser's complaint about an answer's head.
type AnswerError struct{ Err error }

// Error returns the cause behind what it is about. The parser quotes the peer, who
// may have sent a very long line; it's cut.
func (e *AnswerError) Error() string {
	const most = 300
	s := e.Err.Error()
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}

// Unwrap returns the cause.
func (e *AnswerError) Unwrap() error { return e.Err }
