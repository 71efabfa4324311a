package retry

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"example.com/connwise/pool"
)

// An Attempt is what became of one sending of a request.
type Attempt struct {
	// Phase says how far it got, and Evidence what that proves: with Unprocessed, by Proof. Of
	// an attempt that was answered the phase is PhaseResponse.
	Phase    pool.Phase
	Evidence Evidence
	Proof    Proof
	// Addr is the remote address of its connection, "ip:port", and Proto the protocol,
	// "HTTP/1.1" or "HTTP/2.0"; empty where there was none, or Base doesn't tell. A first
	// attempt that was answered, by a status that is retried, has no Addr either, and Reused
	// false, except over an *http.Transport: to note it would cost every call something.
	Addr, Proto string
	// Reused says that the connection had been there before.
	Reused bool
	// Start is when it began, and Took how long it was until its failure or the answer's head.
	Start time.Time
	Took  time.Duration
	// Wait is the pause between it and the next attempt; zero for the last one.
	Wait time.Duration
	// Status is the answer's; zero without one. Err is the failure as Base returned it, or a
	// *StatusError for an answer that was discarded; nil for an answer that was returned.
	Status int
	Err    error
	// Reason says why there is a next attempt, or none. Empty: the answer was no failure.
	Reason Reason
}

// A Report tells what happened in one call that was retried. It keeps its zero value
// when nothing was: Retries without an error from the call is a failure that was absorbed.
//
// One Report serves one call. RoundTrip writes to it and the caller may read it when
// RoundTrip has returned. The hops of a call through an http.Client that follows redirects
// add up in it.
type Report struct {
	// Retries is how often the request was sent again.
	Retries int
	// Errors are the failures behind the retries, in order: the errors of all attempts
	// but the last, as Base returned them, and *StatusError for answers.
	Errors []error
	// Attempts are all attempts in order, the last one included.
	Attempts []Attempt
}

// unprocessed reports whether there are attempts, and the evidence of each is proof.
func (r *Report) unprocessed() bool {
	maybe := func(a Attempt) bool { return !a.Evidence.Unprocessed() }
	return len(r.Attempts) > 0 && !slices.ContainsFunc(r.Attempts, maybe)
}

// add appends what another call, or hop, has to tell.
func (r *Report) add(from *Report) {
	r.Retries += from.Retries
	r.Errors = append(r.Errors, from.Errors...)
	r.Attempts = append(r.Attempts, from.Attempts...)
}

// LogValue gives the attributes retries, a number, and retry_errors, a list of texts. A
// call that wasn't retried has neither: slog leaves an empty group out.
func (r *Report) LogValue() slog.Value {
	if r == nil || r.Retries == 0 {
		return slog.GroupValue()
	}
	texts := make([]string, len(r.Errors))
	for i, err := range r.Errors {
		texts[i] = err.Error()
	}
	return slog.GroupValue(slog.Int("retries", r.Retries), slog.Any("retry_errors", texts))
}

// ReportOf returns the report of the call that resp answers; nil if it wasn't retried. It is
// found by resp.Request's context, and is the caller's. After redirects it's the last hop's. The
// answer to another request with that context has no report by it, nor has a copy of resp.
func ReportOf(resp *http.Response) *Report {
	if resp == nil || resp.Request == nil {
		return nil
	}
	a, _ := resp.Request.Context().Value(reportOfKey{}).(*answered)
	if a == nil || a.resp != resp {
		return nil
	}
	return a.report
}

// An answered is a call's report in the context of its answer's request, and that answer: the
// next one may be to the same request, or to one with its context.
type answered struct {
	resp   *http.Response
	report *Report
}

// attach gives resp a request with the report: a shallow copy of its own, which is a copy of req
// that a middleware has made, perhaps; of req if it has none.
func (r *Report) attach(resp *http.Response, req *http.Request) {
	if resp.Request != nil {
		req = resp.Request
	}
	resp.Request = req.WithContext(context.WithValue(req.Context(), reportOfKey{}, &answered{resp, r}))
}
