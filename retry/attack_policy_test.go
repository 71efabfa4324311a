package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

var attackMethods = []string{"", "GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "PURGE"}

// drawPolicy draws one of which nearly everything may be said.
func drawPolicy(r *rapid.T) retry.Policy {
	if p, ok := retry.Named(rapid.SampledFrom(append(retry.Names(), "", "", "")).Draw(r, "preset")); ok && rapid.Bool().Draw(r, "as it is") {
		return p
	}
	count := rapid.IntRange(-1, 4)
	some := rapid.SliceOfN(rapid.SampledFrom(attackMethods[1:]), 0, 4)
	wait := rapid.SampledFrom([]time.Duration{-time.Hour, 0, 1, time.Millisecond, time.Second, time.Hour, math.MaxInt64})
	p := retry.Policy{
		MaxRetries: count.Draw(r, "MaxRetries"), MaxRefused: count.Draw(r, "MaxRefused"),
		MaxUnsent: count.Draw(r, "MaxUnsent"), MaxMaybeSent: count.Draw(r, "MaxMaybeSent"),
		Interval: wait.Draw(r, "Interval"), MaxInterval: wait.Draw(r, "MaxInterval"),
		Spread:   rapid.SampledFrom([]float64{-1, 0, 0.5, 1, 1e6}).Draw(r, "Spread"),
		Timeouts: retry.Timeouts(rapid.IntRange(0, 2).Draw(r, "Timeouts")), NextConn: retry.NextConn(rapid.IntRange(0, 2).Draw(r, "NextConn")),
		RetryCapacity: rapid.Bool().Draw(r, "RetryCapacity"), LeaveOneShot: rapid.Bool().Draw(r, "LeaveOneShot"),
		IgnoreIdempotencyKey: rapid.Bool().Draw(r, "IgnoreIdempotencyKey"), ResendHeadOnly: rapid.Bool().Draw(r, "ResendHeadOnly"),
		MaxRetryAfter: rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour, math.MaxInt64}).Draw(r, "MaxRetryAfter"),
	}
	if rapid.Bool().Draw(r, "backoff") {
		waits := rapid.SliceOfN(wait, 1, 5).Draw(r, "waits")
		p.Backoff = func(retry int) time.Duration { return waits[retry%len(waits)] }
	}
	if rapid.Bool().Draw(r, "methods") {
		p.Methods = some.Draw(r, "Methods")
	}
	if rapid.Bool().Draw(r, "repeatable") {
		p.Repeatable = some.Draw(r, "Repeatable")
	}
	if rapid.Bool().Draw(r, "statuses") {
		p.RetryStatuses = []int{429, 503}
	}
	if rapid.Bool().Draw(r, "stages") {
		p.Stages = map[dialer.Stage]retry.StageRule{dialer.StageConnect: retry.StageRule(rapid.IntRange(0, 2).Draw(r, "rule"))}
	}
	return p
}

// A drawnEnd is how an attempt ends, and what became of the request in truth.
type drawnEnd struct {
	err      error
	status   int
	after    []string // Retry-After
	executed bool     // it may have been
	headOnly bool
}

func drawEnd(r *rapid.T) drawnEnd {
	cause := rapid.SampledFrom([]error{
		io.EOF, syscall.ECONNRESET, syscall.ETIMEDOUT, syscall.ECONNREFUSED, &dialer.Error{Stage: dialer.StageConnect, Err: syscall.ECONNREFUSED},
		&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, &net.DNSError{}, &pool.GoAwayError{}, errors.New("never sent"), pool.ErrWaitTimeout,
	}).Draw(r, "cause")
	switch kind := rapid.IntRange(0, 5).Draw(r, "kind"); kind {
	case 0:
		return drawnEnd{status: rapid.SampledFrom([]int{200, 301, 429, 500, 503}).Draw(r, "status"), executed: true, after: rapid.SampledFrom([][]string{
			nil, {"0"}, {"1"}, {"-1"}, {""}, {"1e9"}, {"99999999999999999999"}, {"1", "1"}, {"Fri, 01 Jan 1999 00:00:00 GMT"}, {"Fri, 01 Jan 2100 00:00:00 GMT"}, {"soon"},
		}).Draw(r, "Retry-After")}
	case 1: // of a Base that knows nothing
		err := rapid.SampledFrom([]error{io.EOF, syscall.ETIMEDOUT, syscall.ECONNREFUSED, errors.New("connection refused")}).Draw(r, "unknown")
		return drawnEnd{err: err, executed: true}
	case 2:
		return drawnEnd{err: fmt.Errorf("x: %w", &dialer.Error{Stage: dialer.Stage(rapid.IntRange(0, 4).Draw(r, "stage")), Err: cause})}
	default:
		e := &pool.Error{Phase: pool.Phase(rapid.IntRange(0, int(pool.PhaseResponse)).Draw(r, "phase")), Err: cause, Resent: rapid.IntRange(0, 1).Draw(r, "resent")}
		e.HeadOnly = e.Phase == pool.PhaseSending && rapid.Bool().Draw(r, "head only")
		return drawnEnd{err: e, executed: !e.Phase.Unprocessed(), headOnly: e.HeadOnly}
	}
}

// A drawnBase ends attempts as was drawn, and then answers 200.
type drawnBase struct{ left, ends []drawnEnd }

func (b *drawnBase) RoundTrip(req *http.Request) (*http.Response, error) {
	end := drawnEnd{status: 200, executed: true}
	if len(b.left) > 0 {
		end, b.left = b.left[0], b.left[1:]
	}
	b.ends = append(b.ends, end)
	if req.Body != nil {
		if end.executed {
			io.Copy(io.Discard, req.Body)
		}
		req.Body.Close()
	}
	if end.err != nil {
		return nil, end.err
	}
	return &http.Response{StatusCode: end.status, Header: http.Header{"Retry-After": end.after}, Body: io.NopCloser(strings.NewReader("x")), Request: req}, nil
}

// A countedBody is a caller's body that can't be had again.
type countedBody struct {
	io.Reader
	closed int
}

func (b *countedBody) Close() error { b.closed++; return nil }

// TestNoPolicyExecutesTwice, whatever happens to the attempts: but what it calls repeatable, or the
// caller, or an answer that says so. And none makes more attempts, or takes longer, than it
// says of itself.
func TestNoPolicyExecutesTwice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPolicy(r)
		base := &drawnBase{left: rapid.SliceOfN(rapid.Custom(drawEnd), 0, 7).Draw(r, "ends")}
		body := &countedBody{Reader: strings.NewReader("body")}
		ctx, opted := context.WithoutCancel(t.Context()), false
		method := rapid.SampledFrom(attackMethods).Draw(r, "method")
		if rapid.IntRange(0, 3).Draw(r, "opt-in") == 0 {
			ctx, opted = retry.WithIdempotent(ctx), true
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://x/", nil)
		if err != nil {
			r.Fatal(err)
		}
		req.Method = method
		if rapid.Bool().Draw(r, "body") {
			req.Body = body
			if rapid.Bool().Draw(r, "GetBody") {
				req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
			}
		}
		if rapid.IntRange(0, 3).Draw(r, "key") == 0 {
			req.Header.Set("Idempotency-Key", "1")
			opted = opted || !p.IgnoreIdempotencyKey
		}
		synctest.Test(t, func(*testing.T) {
			tr := &retry.Transport{Base: base, Policy: p, Budget: &retry.Budget{Floor: math.MaxInt32, Part: 1}}
			start := time.Now()
			resp, err := tr.RoundTrip(req)
			took := time.Since(start)
			if resp != nil {
				resp.Body.Close()
			}
			checkEnds(r, &p, req, base.ends, opted)
			checkCost(r, &p, len(base.ends), took)
			checkTruth(r, base.ends, resp, err)
			if req.Body != nil && body.closed != 1 {
				r.Errorf("the body was closed %d times", body.closed)
			}
		})
	})
}

// checkEnds looks at what was sent again.
func checkEnds(r *rapid.T, p *retry.Policy, req *http.Request, ends []drawnEnd, opted bool) {
	method := req.Method
	if method == "" {
		method = "GET"
	}
	mayRepeat := opted || slices.Contains(p.Repeatable, method) || p.Repeatable == nil && slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, method)
	for i, end := range ends[:len(ends)-1] {
		switch {
		case end.executed && !mayRepeat && !(p.ResendHeadOnly && end.headOnly):
			r.Errorf("%s was executed by attempt %d (%+v), and sent again", method, i+1, end)
		case end.status != 0 && (!slices.Contains(p.RetryStatuses, end.status) || len(end.after) != 1):
			r.Errorf("an answer %d was retried, Retry-After %q", end.status, end.after)
		case end.executed && req.Body != nil && req.GetBody == nil:
			r.Errorf("a one-shot body was sent again behind %+v", end)
		case p.Methods != nil && !slices.Contains(p.Methods, method):
			r.Errorf("%s was sent again", method)
		}
	}
}

// checkCost looks at attempts and time.
func checkCost(r *rapid.T, p *retry.Policy, attempts int, took time.Duration) {
	no := *p // each attempt takes a second, no wait any time
	no.Backoff, no.RetryStatuses = func(int) time.Duration { return 0 }, nil
	if most := int(no.WorstCase(time.Second) / time.Second); attempts > most {
		r.Errorf("%d attempts, %d at most", attempts, most)
	}
	if p.Backoff == nil && took > p.WorstCase(0) {
		r.Errorf("took %v, %v at most", took, p.WorstCase(0))
	}
	if p.MaxRetries < 0 && attempts > 1 {
		r.Errorf("%d attempts with retries off", attempts)
	}
}

// checkTruth looks at what the caller is told.
func checkTruth(r *rapid.T, ends []drawnEnd, resp *http.Response, err error) {
	last := ends[len(ends)-1]
	if err == nil {
		if resp.StatusCode != last.status {
			r.Errorf("the answer is %d, the last was %d", resp.StatusCode, last.status)
		}
		if rep := retry.ReportOf(resp); (rep != nil) != (len(ends) > 1) || rep != nil && (rep.Retries != len(ends)-1 || len(rep.Attempts) != len(ends)) {
			r.Errorf("%d attempts, the report is %+v", len(ends), rep)
		}
		return
	}
	if !errors.Is(err, last.err) || errors.Is(err, context.Canceled) {
		r.Errorf("the error is %v, the last was %v", err, last.err)
	}
	if e, ok := err.(*retry.Error); ok != (len(ends) > 1) {
		r.Errorf("%d attempts, the error is a %T", len(ends), err)
	} else if ok && e.Unprocessed() && slices.ContainsFunc(ends, func(e drawnEnd) bool { return e.executed }) {
		r.Errorf("unprocessed is claimed of %+v", ends)
	}
}
