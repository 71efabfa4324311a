package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"

	"example.com/connwise/pool"
)

// TestA8_LastError: when no retry is due any more, the caller gets the last attempt's
// own error value, and after retries an error around it.
func TestA8_LastError(t *testing.T) {
	first, second, third := failed(pool.PhaseDial), failed(pool.PhaseUnsent), failed(pool.PhaseSent)
	tests := []struct {
		name   string
		policy Policy
		ends   []any
	}{
		{"out of retries", Policy{}, []any{first, second, first}},
		{"not allowed at once", Policy{}, []any{third}},
		{"not allowed after a retry", Policy{}, []any{first, third}},
		{"off", Off(), []any{first}},
		{"once", Once(), []any{first, second}},
		{"four retries", Policy{MaxRetries: 4}, []any{first, first, first, first, second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := newScript(t, tt.ends...)
			resp, err := (&Transport{Base: base, Policy: atOnce(tt.policy)}).RoundTrip(newRequest(t, "POST", nil))
			last := tt.ends[len(tt.ends)-1].(error)
			if len(tt.ends) > 1 {
				e, ok := err.(*Error)
				if !ok || len(e.Report.Attempts) != len(tt.ends) {
					t.Fatalf("got %#v, want all attempts", err)
				}
				err = e.Err
			}
			if err != last || resp != nil {
				t.Errorf("got %v and %v, want the value %v", resp, err, last)
			}
			base.wantAttempts(len(tt.ends))
		})
	}
}

// TestA5_AnswersAreReturned: an HTTP answer is never retried, and never changed.
func TestA5_AnswersAreReturned(t *testing.T) {
	for _, preset := range []func() Policy{Default, NeverTimeouts, Once, SafeOnly, Off} {
		for _, code := range []int{200, 101, 301, 400, 408, 421, 425, 429, 500, 502, 503, 504} {
			want := status(code) // a 429 without Retry-After is an answer for SafeOnly, too
			base := newScript(t, want)
			got, err := (&Transport{Base: base, Policy: atOnce(preset())}).RoundTrip(newRequest(t, "GET", nil))
			if err != nil || got != want {
				t.Errorf("%d: got %v, %v; want Base's answer", code, got, err)
			}
			base.wantAttempts(1)
		}
	}
}

// TestCallerFaultsAreFinal: what the caller did wrong is not tried again, in any phase.
func TestCallerFaultsAreFinal(t *testing.T) {
	for _, source := range []pool.CallerSource{pool.CallerRequest, pool.CallerBody, pool.CallerHook} {
		for _, o := range matrixPhases {
			e := &pool.Error{Phase: o.Phase, HeadOnly: o.HeadOnly, Err: &pool.CallerError{Source: source, Err: errWire}}
			base := newScript(t, e)
			if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "GET", nil)); err != error(e) {
				t.Errorf("got %v, want %v", err, e)
			}
			base.wantAttempts(1)
		}
	}
}

// TestRequestIsNotChanged: every attempt has the caller's method, URL, headers, context
// and trace, the caller's request stays as it was, and is the answer's.
func TestRequestIsNotChanged(t *testing.T) {
	type key struct{}
	gotConn := 0
	ctx := context.WithValue(t.Context(), key{}, "value")
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { gotConn++ }})
	req := newRequest(t, "POST", strings.NewReader("the body")).WithContext(ctx)
	req.Header.Set("X-Test", "1")
	before := *req

	base := newScript(t, failed(pool.PhaseUnsent), failed(pool.PhaseRefused), status(200))
	base.other = func(r *http.Request) {
		httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
		if r.Context().Value(key{}) != "value" {
			t.Error("B10: an attempt lacks the caller's value")
		}
		if r.Method != "POST" || r.URL != before.URL || r.Header.Get("X-Test") != "1" || r.ContentLength != 8 {
			t.Errorf("an attempt is another request: %+v", r)
		}
	}
	resp, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if gotConn != 3 {
		t.Errorf("the trace saw %d attempts, want 3", gotConn)
	}
	if got := resp.Request; got.URL != req.URL || got.Body != req.Body || got.Context().Value(key{}) != "value" {
		t.Error("the answer's Request is not a copy of the caller's")
	}
	if req.Body != before.Body || req.URL != before.URL || req.Context() != ctx || len(req.Header) != 1 {
		t.Error("the caller's request was changed")
	}
	if base.sent[0].req != req || base.sent[1].req == req || base.sent[2].req == base.sent[1].req {
		t.Error("the first attempt is the caller's request, later ones are copies of their own")
	}
	if last := base.sent[2]; last.body != "the body" {
		t.Errorf("the last attempt sent %q", last.body)
	}
}

// redirecter is a Base that answers for a request of its own.
type redirecter struct{ own *http.Request }

func (r redirecter) RoundTrip(*http.Request) (*http.Response, error) {
	resp := status(200)
	resp.Request = r.own
	return resp, nil
}

func TestAnotherRequestStays(t *testing.T) {
	own := newRequest(t, "GET", nil)
	resp, err := (&Transport{Base: redirecter{own}}).RoundTrip(newRequest(t, "GET", nil))
	if err != nil || resp.Request != own {
		t.Errorf("got %v, %v; want the request that Base answers for", resp, err)
	}
}

// TestB8_Report: a retried call has its number and errors, another one nothing.
func TestB8_Report(t *testing.T) {
	first, second, third := failed(pool.PhaseDial), failed(pool.PhaseUnsent), failed(pool.PhaseDial)
	tests := []struct {
		name string
		ends []any
		want []error
	}{
		{"success at once", []any{status(200)}, nil},
		{"an answer of failure", []any{status(503)}, nil},
		{"failure without a retry", []any{failed(pool.PhaseSent)}, nil},
		{"absorbed", []any{first, second, status(200)}, []error{first, second}},
		{"in vain", []any{first, second, third}, []error{first, second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Report
			req := newRequest(t, "POST", nil)
			req = req.WithContext(WithReport(req.Context(), &r))
			resp, err := (&Transport{Base: newScript(t, tt.ends...), Policy: atOnce(Default())}).RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			if r.Retries != len(tt.want) || fmt.Sprint(r.Errors) != fmt.Sprint(tt.want) || (r.Errors == nil) != (tt.want == nil) {
				t.Errorf("got %d, %v; want %v", r.Retries, r.Errors, tt.want)
			}
			for i := range tt.want {
				if r.Errors[i] != tt.want[i] {
					t.Errorf("error %d is not the attempt's own value", i)
				}
			}
		})
	}
}

func TestReportCanBeTakenAway(t *testing.T) {
	var r Report
	req := newRequest(t, "POST", nil)
	req = req.WithContext(WithReport(WithReport(req.Context(), &r), nil))
	if _, err := (&Transport{Base: newScript(t, failed(pool.PhaseDial), status(200)), Policy: atOnce(Default())}).RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	if r.Retries != 0 {
		t.Error("the outer report was filled")
	}
}

// TestSafeOnly429: the answer is waited for, given back and repeated; the last one is
// returned as it is.
func TestSafeOnly429(t *testing.T) {
	throttled := func() *http.Response { return status(429, "Retry-After", "0") }
	var r Report
	base := newScript(t, throttled(), throttled(), status(200))
	req := newRequest(t, "GET", nil)
	req = req.WithContext(WithReport(req.Context(), &r))
	resp, err := (&Transport{Base: base, Policy: atOnce(SafeOnly())}).RoundTrip(req)
	if err != nil || resp.StatusCode != 200 || !answers(resp, req) {
		t.Fatalf("got %v, %v; want 200 for the caller's request", resp, err)
	}
	e, ok := errors.AsType[*StatusError](r.Errors[1])
	if r.Retries != 2 || !ok || e.Status != 429 {
		t.Errorf("report %+v, want two retries for 429", r)
	}

	last := throttled()
	base = newScript(t, throttled(), throttled(), last)
	resp, err = (&Transport{Base: base, Policy: atOnce(SafeOnly())}).RoundTrip(req)
	if err != nil || resp != last {
		t.Fatalf("got %v, %v; want the last answer", resp, err)
	}
	if b, err := io.ReadAll(resp.Body); string(b) != "answer" || err != nil {
		t.Errorf("the last answer's body is %q, %v", b, err)
	}

	base = newScript(t, throttled())
	if resp, err = (&Transport{Base: base, Policy: atOnce(SafeOnly())}).RoundTrip(newRequest(t, "POST", nil)); err != nil || resp.StatusCode != 429 {
		t.Errorf("POST: got %v, %v; want 429", resp, err)
	}
}

// TestPolicyIsReadOnce: changes after the first request have no effect (B4).
func TestPolicyIsReadOnce(t *testing.T) {
	statuses := []int{429}
	tr := &Transport{Policy: atOnce(Policy{RetryStatuses: statuses})}
	tr.Base = newScript(t, status(200))
	if _, err := tr.RoundTrip(newRequest(t, "GET", nil)); err != nil {
		t.Fatal(err)
	}
	tr.Policy = Off()
	statuses[0] = 200
	base := newScript(t, failed(pool.PhaseDial), status(200, "Retry-After", "0"))
	tr.Base = base
	if _, err := tr.RoundTrip(newRequest(t, "GET", nil)); err != nil {
		t.Error(err)
	}
	base.wantAttempts(2)
}

type idleCloser struct {
	http.RoundTripper
	closed int
}

func (c *idleCloser) CloseIdleConnections() { c.closed++ }

func TestCloseIdleConnections(t *testing.T) {
	base := &idleCloser{}
	(&http.Client{Transport: &Transport{Base: base}}).CloseIdleConnections()
	if base.closed != 1 {
		t.Errorf("Base was told %d times, want once", base.closed)
	}
	(&Transport{Base: newScript(t)}).CloseIdleConnections() // has no such method
}

// TestZeroTransport: it works, over http.DefaultTransport.
func TestZeroTransport(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }))
	defer srv.Close()
	c := &http.Client{Transport: &Transport{}}
	defer c.CloseIdleConnections()
	resp, err := c.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "ok" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
}

// An authorizing base embeds a pool and has a RoundTrip of its own, as many do.
type authorizing struct{ *pool.Transport }

func (a authorizing) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer x")
	return a.Transport.RoundTrip(req)
}

// TestAWrappedPoolIsAsked: what embeds a pool isn't bypassed.
func TestAWrappedPoolIsAsked(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	req := newRequest(t, "GET", nil)
	if req.URL, err = req.URL.Parse(srv.URL); err != nil {
		t.Fatal(err)
	}
	resp, err := (&Transport{Base: authorizing{p}}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); string(b) != "Bearer x" {
		t.Errorf("the server got %q", b)
	}
}
