package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// statusClientLeft stands in logs for a request whose client is gone. No answer has it.
const statusClientLeft = 499

// phaseRequest is the phase of a request that wasn't read to its end, so that nothing was sent.
const phaseRequest = "request"

// An answer is what the sidecar says itself of a request that the upstream hasn't answered.
type answer struct {
	status      int
	unprocessed bool   // proven: no server has processed the request
	phase       string // how far the last attempt got
	retries     int
}

// answerOf reads the answer from the error's facts: what is proven of all attempts, and else whether
// a time limit ended the last one.
func answerOf(err error) answer {
	type evidence interface { // a *retry.Error, which knows all attempts, or else a *pool.Error
		error
		Unprocessed() bool
	}
	a := answer{status: http.StatusBadGateway, phase: pool.PhaseUnknown.String()}
	if e, ok := errors.AsType[evidence](err); ok {
		a.unprocessed = e.Unprocessed()
	}
	if e, ok := errors.AsType[*pool.Error](err); ok {
		a.phase = e.Phase.String()
	}
	if e, ok := errors.AsType[*retry.Error](err); ok {
		a.retries = e.Report.Retries
	}
	if _, unread := err.(*pool.CallerError); unread { // of prepare
		return answer{status: http.StatusBadRequest, unprocessed: true, phase: phaseRequest}
	}
	fault, _ := errors.AsType[*pool.CallerError](err)
	switch {
	case fault != nil && fault.Source != pool.CallerHook:
		a.status = http.StatusBadRequest
	case a.unprocessed:
		a.status = http.StatusServiceUnavailable
	case isTimeout(err):
		a.status = http.StatusGatewayTimeout
	}
	return a
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && e.Timeout()
}

// text is what a person reads, and nothing that a program needs.
func (a answer) text() string {
	switch {
	case a.status == http.StatusBadRequest:
		return "the request broke off, or can't be sent"
	case a.unprocessed:
		return "the request was not processed, and may be sent again"
	case a.status == http.StatusGatewayTimeout:
		return "no answer came in time; the request may have been processed"
	}
	return "the connection was lost; the request may have been processed"
}

// event is what a log says of it.
func (a answer) event() string {
	switch a.status {
	case statusClientLeft:
		return "client left"
	case http.StatusBadRequest:
		return "request broke off"
	}
	return "no answer from upstream"
}

// answerFailure tells the client by the status, and exactly by the fields, what is known of its request:
//
//   - 503 with Retry-After and Connwise-Unprocessed: true. No server has processed the request, by
//     proof: it may be sent again, whatever its method.
//   - 504 with Connwise-Unprocessed: false. A time limit ended it; it may have been processed, or
//     still be.
//   - 502 with Connwise-Unprocessed: false. The connection was lost; it may have been processed.
//   - 400: the request itself broke off, or can't be sent.
//
// Connwise-Unprocessed is there exactly in the answers that are the sidecar's own. false is no proof of
// the contrary. Connwise-Phase has how far the last attempt got (a pool.Phase, or "request": nothing was
// to be sent yet), for people and statistics, and Connwise-Retries how often the request was sent again, also in answers of the
// upstream that came after a retry.
func (g *generation) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	a := answerOf(err)
	if r.Context().Err() != nil {
		a.status = statusClientLeft
		if errors.Is(context.Cause(r.Context()), errCut) {
			a.status = http.StatusServiceUnavailable
		}
		g.logFailure(r, a, err)
		panic(http.ErrAbortHandler) // nobody is there; an empty 200 would be a lie
	}
	g.logFailure(r, a, err)
	h := w.Header()
	clear(h)
	h.Set(fieldUnprocessed, strconv.FormatBool(a.unprocessed))
	h.Set(fieldPhase, a.phase)
	h.Set(fieldRetries, strconv.Itoa(a.retries))
	h.Set("Cache-Control", "no-store")
	if a.status == http.StatusServiceUnavailable {
		seconds := (g.set.RetryAfter + time.Second - 1) / time.Second
		h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	http.Error(w, fmt.Sprintf("connwise proxy: %s (%s)", a.text(), a.phase), a.status)
}
