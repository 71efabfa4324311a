package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// TestReportBehindALayer: Base may give the pool a copy of the request; the answer has the report
// nevertheless, and no answer has that of a call before.
func TestReportBehindALayer(t *testing.T) {
	layers := map[string]func(*http.Response, *http.Request){
		"a copy":  func(resp *http.Response, req *http.Request) { resp.Request = req.Clone(req.Context()) },
		"nothing": func(resp *http.Response, _ *http.Request) { resp.Request = nil },
		"as is":   func(*http.Response, *http.Request) {},
	}
	for name, layer := range layers {
		base := newScript(t, failed(pool.PhaseDial), status(200), status(200))
		tr := &Transport{Policy: atOnce(Default()), Base: baseFunc(func(req *http.Request) (*http.Response, error) {
			resp, err := base.RoundTrip(req)
			if err == nil {
				layer(resp, req)
			}
			return resp, err
		})}
		first, err := tr.RoundTrip(newRequest(t, "POST", nil))
		if err != nil {
			t.Fatal(err)
		}
		if r := ReportOf(first); r == nil || r.Retries != 1 {
			t.Errorf("%s: the report is %+v", name, r)
		}
		if first.Request.URL.Host != "api.test" {
			t.Errorf("%s: the answer's request is %+v", name, first.Request)
		}
		for _, req := range []*http.Request{first.Request, newRequest(t, "GET", nil).WithContext(first.Request.Context())} {
			base.ends = append(base.ends[:2:2], status(200))
			base.sent = base.sent[:2]
			next, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if r := ReportOf(next); r != nil {
				t.Errorf("%s: a call that wasn't retried has the report %+v", name, r)
			}
		}
	}
}

// A wideContext can't be compared.
type wideContext struct {
	context.Context
	_ []string
}

func TestContextsNeedNotBeComparable(t *testing.T) {
	for _, err := range []error{errWire, failed(pool.PhaseSent)} {
		base := newScript(t, err, status(200))
		req := newRequest(t, "GET", nil).WithContext(wideContext{Context: t.Context()})
		if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req); err != nil {
			t.Error(err)
		}
	}
}

// TestHooksThatPanic leave neither the answer nor the request's body open.
func TestHooksThatPanic(t *testing.T) {
	for name, tr := range map[string]*Transport{
		"OnDecision":    {OnDecision: func(Decision) { panic("mine") }},
		"Backoff":       {Policy: Policy{Backoff: func(int) time.Duration { panic("mine") }}},
		"BeforeAttempt": {BeforeAttempt: func(*http.Request, int) error { panic("mine") }},
	} {
		var answer, body closings
		resp := busy("0")
		resp.Body = &answer
		tr.Policy.RetryStatuses = []int{http.StatusTooManyRequests}
		tr.Base = newScript(t, resp)
		req := newRequest(t, "GET", nil)
		req.Body, req.ContentLength = &body, 1
		req.GetBody = func() (io.ReadCloser, error) { return &body, nil }
		func() {
			defer func() {
				if v := recover(); v != "mine" {
					t.Errorf("%s: recovered %v", name, v)
				}
			}()
			tr.RoundTrip(req)
		}()
		if answered := name != "BeforeAttempt"; answered && answer == 0 || body == 0 {
			t.Errorf("%s: the answer was closed %d times, the body %d times", name, answer, body)
		}
	}
}

// TestVetoIsNeverSent: over any Base, and the report of a call says so.
func TestVetoIsNeverSent(t *testing.T) {
	veto := errors.New("expired")
	tr := &Transport{Base: newScript(t, failed(pool.PhaseDial)), Policy: atOnce(Default()), BeforeAttempt: func(_ *http.Request, retry int) error {
		if retry == 1 {
			return veto
		}
		return nil
	}}
	_, err := tr.RoundTrip(newRequest(t, "POST", strings.NewReader("x")))
	e, ok := err.(*Error)
	if !ok || !e.Unprocessed() || !errors.Is(err, veto) {
		t.Fatalf("got %#v", err)
	}
	if a := e.Report.Attempts[1]; a.Phase != pool.PhaseUnsent || a.Evidence != EvidenceNeverSent || a.Reason != ReasonCallerFault {
		t.Errorf("the report says %+v", a)
	}
}

// TestStoppedIsNoRetry: a call that ends in its wait has one attempt, in the report and in the totals.
func TestStoppedIsNoRetry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	tr := &Transport{Base: newScript(t, failed(pool.PhaseDial), failed(pool.PhaseUnsent)), Policy: atOnce(Default()), OnDecision: func(Decision) {
		if n++; n == 2 {
			cancel()
		}
	}}
	_, err := tr.RoundTrip(newRequest(t, "POST", nil).WithContext(ctx))
	e, ok := err.(*Error)
	if !ok || len(e.Report.Attempts) != 2 {
		t.Fatalf("got %v", err)
	}
	if last := e.Report.Attempts[1]; last.Reason != ReasonEnded || last.Wait != 0 {
		t.Errorf("the report says %+v", last)
	}
	if s := tr.Stats(); s.Retries["never sent"] != 1 || s.Refused[ReasonEnded] != 1 {
		t.Errorf("the totals are %+v", s)
	}
}

// TestDecisionOfAnAnswer names what the report will.
func TestDecisionOfAnAnswer(t *testing.T) {
	var seen Decision
	tr := &Transport{Base: newScript(t, busy("0"), status(200)), Policy: atOnce(SafeOnly()), OnDecision: func(d Decision) { seen = d }}
	resp, err := tr.RoundTrip(newRequest(t, "GET", nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := seen.Attempt.Err.(*StatusError); !ok || seen.Attempt != ReportOf(resp).Attempts[0] {
		t.Errorf("decided about %+v, reported %+v", seen.Attempt, ReportOf(resp).Attempts[0])
	}
}

// TestWhatThePoolHasResent counts as the policy's retries: one failure isn't multiplied.
func TestWhatThePoolHasResent(t *testing.T) {
	again := func(times int) error { return &pool.Error{Phase: pool.PhaseRefused, Resent: times} }
	for _, ends := range [][]any{{again(3)}, {again(2), again(1)}, {again(1), again(1)}, {again(1), again(0), status(200)}} {
		base := newScript(t, ends...)
		(&Transport{Base: base, Policy: atOnce(Policy{MaxRetries: 3})}).RoundTrip(newRequest(t, "POST", nil))
		base.wantAttempts(len(ends))
	}
}

// TestLongReadByBase: an *http.Transport knows nothing of a call's own read timeout; a Base of
// which nothing is known may.
func TestLongReadByBase(t *testing.T) {
	req := newRequest(t, "GET", nil)
	req = req.WithContext(pool.WithReadTimeout(req.Context(), time.Hour))
	for _, tt := range []struct {
		base http.RoundTripper
		want bool
	}{{&http.Transport{ResponseHeaderTimeout: time.Second}, false}, {nil, false}, {newScript(t), true}} {
		if got := (&Transport{Base: tt.base}).readsLong(req); got != tt.want {
			t.Errorf("%T: %v", tt.base, got)
		}
	}
}

// TestBeforeAttemptKeepsTheContext: a pool gets all that the caller has put into it.
func TestBeforeAttemptKeepsTheContext(t *testing.T) {
	type key struct{}
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	var order []string
	p, err := pool.New(pool.Config{BeforeSend: func(req *http.Request) error {
		d, _ := pool.ReadTimeout(req.Context())
		order = append(order, fmt.Sprintf("pool %v %v", req.Context().Value(key{}), d))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	tr := &Transport{Base: p, Policy: Policy{AttemptTimeout: time.Minute}, BeforeAttempt: func(req *http.Request, _ int) error {
		order = append(order, fmt.Sprint("attempt ", req.Context().Value(key{})))
		return nil
	}}
	ctx := pool.WithReadTimeout(context.WithValue(t.Context(), key{}, "value"), time.Hour)
	ctx = pool.WithBeforeSend(ctx, func(*http.Request) error { order = append(order, "caller"); return nil })
	req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if want := []string{"pool value 1h0m0s", "caller", "attempt value"}; !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
}

// TestStatsAreTheCallers: later calls don't change them.
func TestStatsAreTheCallers(t *testing.T) {
	tr := &Transport{Policy: atOnce(Policy{MaxRetries: 1}), Base: baseFunc(func(*http.Request) (*http.Response, error) { return nil, failed(pool.PhaseDial) })}
	tr.RoundTrip(newRequest(t, "GET", nil))
	before := tr.Stats()
	tr.RoundTrip(newRequest(t, "GET", nil))
	if before.Retries["never sent"] != 1 || before.Refused[ReasonExhausted] != 1 {
		t.Errorf("%+v", before)
	}
}
