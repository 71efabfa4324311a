package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// TestTruthAcrossAttempts: the last error is what errors.Is and errors.As find, and the call is
// unprocessed only if each attempt is, one that was nested in Base included.
func TestTruthAcrossAttempts(t *testing.T) {
	refused := func() error {
		return &pool.Error{Phase: pool.PhaseDial, Err: &dialer.Error{Stage: dialer.StageConnect, Err: syscall.ECONNREFUSED}}
	}
	tests := []struct {
		name   string
		method string
		ends   []any
		want   bool
	}{
		{"executed, sent again, refused a connection", "GET", []any{failed(pool.PhaseSent), refused(), refused()}, false},
		{"the last one may have been executed", "GET", []any{refused(), refused(), failed(pool.PhaseSent)}, false},
		{"in the middle", "GET", []any{refused(), failed(pool.PhaseResponse), refused()}, false},
		{"never connected", "POST", []any{refused(), refused(), refused()}, true},
		{"refused by the peer", "POST", []any{failed(pool.PhaseRefused), failed(pool.PhaseUnsent), refused()}, true},
		{"an answer discarded", "GET", []any{busy("0"), refused(), refused()}, false},
		{"another layer had sent it", "GET", []any{&Error{Report: Report{Attempts: []Attempt{{}}}, Err: refused()}, refused(), refused()}, false},
	}
	for _, tt := range tests {
		base := newScript(t, tt.ends...)
		p := atOnce(Policy{RetryStatuses: []int{429}})
		_, err := (&Transport{Base: base, Policy: p}).RoundTrip(newRequest(t, tt.method, nil))
		base.wantAttempts(3)
		u, ok := errors.AsType[interface {
			error
			Unprocessed() bool
		}](err)
		if !ok || u.Unprocessed() != tt.want {
			t.Errorf("%s: unprocessed: %v, want %v (%v)", tt.name, !tt.want, tt.want, err)
		}
		last := tt.ends[2].(*pool.Error)
		if e, ok := errors.AsType[*pool.Error](err); !ok || e != last {
			t.Errorf("%s: the error is %v, want the last one", tt.name, err)
		}
		if got := errors.Is(err, syscall.ECONNREFUSED); got != (last.Phase == pool.PhaseDial) {
			t.Errorf("%s: ECONNREFUSED is found: %v", tt.name, got)
		}
		if e := err.(*Error); len(e.Report.Attempts) != 3 || e.Report.Retries != 2 || len(e.Report.Errors) != 2 {
			t.Errorf("%s: the report is %+v", tt.name, e.Report)
		}
	}
}

// TestNestedTransports: what another layer has sent is no proof for this one.
func TestNestedTransports(t *testing.T) {
	base := newScript(t, failed(pool.PhaseSent), failed(pool.PhaseDial), failed(pool.PhaseDial))
	inner := &Transport{Base: base, Policy: atOnce(Policy{Repeatable: []string{"POST"}})}
	_, err := (&Transport{Base: inner, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "POST", nil))
	if err == nil {
		t.Error("no error")
	}
	base.wantAttempts(3)
}

// TestNestedTransportsDontMultiply: what another layer has sent again counts.
func TestNestedTransportsDontMultiply(t *testing.T) {
	dial := failed(pool.PhaseDial)
	base := newScript(t, dial, dial, dial)
	inner := &Transport{Base: base, Policy: atOnce(Default())}
	if _, err := (&Transport{Base: inner, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "POST", nil)); err == nil {
		t.Error("no error")
	}
	base.wantAttempts(3)
}

func busy(after string) *http.Response {
	resp := status(http.StatusTooManyRequests)
	resp.Header.Set("Retry-After", after)
	return resp
}

// tracing gives each attempt a connection, as a transport does.
type tracing struct{ *script }

func (b tracing) RoundTrip(req *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: nil, Reused: true})
	}
	return b.script.RoundTrip(req)
}

// TestReportOfEachAttempt: the report tells phase, proof, connection, times and reason of each.
func TestReportOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &pool.Error{Phase: pool.PhaseRefused, Addr: "192.0.2.1:443", Proto: "HTTP/2.0", Reused: true, Err: &pool.GoAwayError{}}
		dial := failed(pool.PhaseDial)
		base := newScript(t, away, dial, status(200))
		base.other = func(*http.Request) { time.Sleep(time.Second) }
		var rep Report
		start := time.Now()
		var seen []Decision
		tr := &Transport{Base: tracing{base}, Policy: Policy{Spread: -1}, OnDecision: func(d Decision) { seen = append(seen, d) }}
		req := newRequest(t, "POST", strings.NewReader("body"))
		resp, err := tr.RoundTrip(req.WithContext(WithReport(req.Context(), &rep)))
		if err != nil {
			t.Fatal(err)
		}
		want := []Attempt{
			{Phase: pool.PhaseRefused, Evidence: EvidenceRefused, Proof: ProofGoAway, Addr: "192.0.2.1:443", Proto: "HTTP/2.0", Reused: true, Wait: 100 * time.Millisecond, Err: away, Reason: ReasonUnprocessed},
			{Phase: pool.PhaseDial, Evidence: EvidenceNeverSent, Proof: ProofNoConnection, Wait: 200 * time.Millisecond, Err: dial, Reason: ReasonUnprocessed},
			{Phase: pool.PhaseResponse, Reused: true, Status: 200},
		}
		for i, began := range []time.Duration{0, 1100 * time.Millisecond, 2300 * time.Millisecond} {
			if d := rep.Attempts[i].Start.Sub(start.Add(began)); d < -time.Microsecond || d > time.Microsecond {
				t.Errorf("attempt %d began %v off", i, d)
			}
			want[i].Start, want[i].Took = rep.Attempts[i].Start, time.Second
		}
		if !slices.Equal(rep.Attempts, want) {
			t.Errorf("got %+v\nwant %+v", rep.Attempts, want)
		}
		if got := ReportOf(resp); got == nil || !slices.Equal(got.Attempts, want) || got.Retries != 2 || len(got.Errors) != 2 {
			t.Errorf("the answer's report: %+v", got)
		}
		if len(seen) != 2 || !seen[0].Retry || seen[0].Attempt != want[0] || seen[1].Wait != 200*time.Millisecond || seen[1].Request.URL != req.URL {
			t.Errorf("decisions: %+v", seen)
		}
	})
}

// TestNoReportWithoutARetry: a call that wasn't retried carries nothing, and a failure is Base's own.
func TestNoReportWithoutARetry(t *testing.T) {
	var rep Report
	req := newRequest(t, "POST", nil)
	req = req.WithContext(WithReport(req.Context(), &rep))
	resp, err := (&Transport{Base: newScript(t, status(503))}).RoundTrip(req)
	if err != nil || ReportOf(resp) != nil || resp.Request != req {
		t.Errorf("%v, %+v", err, ReportOf(resp))
	}
	sent := failed(pool.PhaseSent)
	if _, err := (&Transport{Base: newScript(t, sent)}).RoundTrip(req); err != error(sent) {
		t.Errorf("got %#v", err)
	}
	if rep.Retries != 0 || rep.Errors != nil || rep.Attempts != nil {
		t.Errorf("%+v", rep)
	}
}

// TestResendCount: an attempt's context says which it is, as OpenTelemetry counts.
func TestResendCount(t *testing.T) {
	var got []int
	base := newScript(t, failed(pool.PhaseDial), failed(pool.PhaseDial), status(200))
	base.other = func(r *http.Request) { got = append(got, ResendCount(r.Context())) }
	if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "GET", nil)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("got %v", got)
	}
}

// TestWithPolicy: a call's own policy goes before its Transport's.
func TestWithPolicy(t *testing.T) {
	for _, tt := range []struct {
		name     string
		set, own Policy
		want     int
	}{
		{"off for a call", Default(), Off(), 1},
		{"on for a call", Off(), Default(), 3},
	} {
		dial := failed(pool.PhaseDial)
		base := newScript(t, []any{dial, dial, dial}[:tt.want]...)
		req := newRequest(t, "POST", io.NopCloser(strings.NewReader("x")))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
		(&Transport{Base: base, Policy: atOnce(tt.set)}).RoundTrip(req.WithContext(WithPolicy(req.Context(), atOnce(tt.own))))
		base.wantAttempts(tt.want)
	}
}

// TestBudgetIsAsked: a spent budget ends a call with its original error.
func TestBudgetIsAsked(t *testing.T) {
	dial := failed(pool.PhaseDial)
	tr := &Transport{Base: newScript(t, dial), Policy: atOnce(Default()), Budget: &Budget{Share: -1, UnprocessedShare: -1, Floor: -1}}
	var reason Reason
	tr.OnDecision = func(d Decision) { reason = d.Reason }
	if _, err := tr.RoundTrip(newRequest(t, "POST", nil)); err != error(dial) || reason != ReasonBudget {
		t.Errorf("got %v for the reason %q", err, reason)
	}
	if s := tr.Stats(); s.Refused[ReasonBudget] != 1 || s.Budget.RefusedUnprocessed != 1 {
		t.Errorf("%+v", s)
	}
}

func TestStats(t *testing.T) {
	tr := &Transport{Base: newScript(t, failed(pool.PhaseDial), failed(pool.PhaseRefused), status(200), failed(pool.PhaseSent), busy("1"), failed(pool.PhaseSent)), Policy: atOnce(Policy{RetryStatuses: []int{429}, MaxRetryAfter: time.Nanosecond})}
	for range 3 {
		if resp, err := tr.RoundTrip(newRequest(t, "GET", nil)); err == nil {
			resp.Body.Close()
		}
		if len(tr.Base.(*script).sent) == 5 {
			break
		}
	}
	s := tr.Stats()
	if s.Retries["never sent"] != 1 || s.Retries["refused"] != 1 || s.Retries["maybe sent"] != 1 || s.Absorbed != 2 || s.Failed != 0 || s.Refused[ReasonTooLate] != 1 {
		t.Errorf("%+v", s)
	}
}

// TestBeforeAttempt: the hook is called before each attempt, with headers to set, and can veto.
func TestBeforeAttempt(t *testing.T) {
	base := newScript(t, failed(pool.PhaseDial), status(200))
	var signed []string
	base.other = func(r *http.Request) { signed = append(signed, r.Header.Get("X-Signature")) }
	tr := &Transport{Base: base, Policy: atOnce(Default()), BeforeAttempt: func(r *http.Request, retry int) error {
		r.Header.Set("X-Signature", string(rune('a'+retry)))
		return nil
	}}
	req := newRequest(t, "POST", nil)
	if _, err := tr.RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(signed, []string{"a", "b"}) || req.Header.Get("X-Signature") != "" {
		t.Errorf("signed %q; the caller's request has %v", signed, req.Header)
	}
	veto := errors.New("expired")
	base = newScript(t, failed(pool.PhaseDial))
	tr = &Transport{Base: base, Policy: atOnce(Default()), BeforeAttempt: func(_ *http.Request, retry int) error {
		if retry == 1 {
			return veto
		}
		return nil
	}}
	_, err := tr.RoundTrip(newRequest(t, "POST", strings.NewReader("x")))
	if _, ok := errors.AsType[*pool.CallerError](err); !ok || !errors.Is(err, veto) {
		t.Errorf("got %v", err)
	}
	base.wantAttempts(1)
}

// TestTimeBudgets: an attempt, and a call, end with their time, and an answer's body doesn't.
func TestTimeBudgets(t *testing.T) {
	const second = time.Second
	dial := func() any { return failed(pool.PhaseDial) }
	tests := []struct {
		name  string
		p     Policy
		long  time.Duration
		end   func() any
		took  time.Duration
		field string // of the TimeoutError; empty: none
	}{
		{"attempts in time", Policy{AttemptTimeout: 3 * second}, second, dial, 3300 * time.Millisecond, ""},
		{"attempts that take too long", Policy{AttemptTimeout: second, Timeouts: TimeoutsAlways}, 3 * second, dial, 3300 * time.Millisecond, "AttemptTimeout"},
		{"one is enough by default", Policy{AttemptTimeout: second}, 3 * second, dial, second, "AttemptTimeout"},
		{"a call that takes too long", Policy{CallTimeout: 2500 * time.Millisecond, Timeouts: TimeoutsAlways}, second, dial, 2500 * time.Millisecond, "CallTimeout"},
		{"no time for the wait", Policy{CallTimeout: 1050 * time.Millisecond}, second, dial, second, ""},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			tt.p.Spread = -1
			start := time.Now()
			_, err := (&Transport{Base: slow{tt.long, tt.end}, Policy: tt.p}).RoundTrip(newRequest(t, "GET", nil))
			if took := time.Since(start); took != tt.took {
				t.Errorf("%s: took %v, want %v", tt.name, took, tt.took)
			}
			e, ok := errors.AsType[*TimeoutError](err)
			if ok != (tt.field != "") || ok && (e.Field != tt.field || !errors.Is(err, context.DeadlineExceeded) || !timedOut(err)) {
				t.Errorf("%s: got %v", tt.name, err)
			}
			if errors.Is(err, context.Canceled) {
				t.Errorf("%s: the error reads as if the caller had cancelled: %v", tt.name, err)
			}
		})
	}
}

// slowBody is an answer whose body takes long, unless its request ends.
type slowBody struct{ long time.Duration }

func (b slowBody) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := status(200)
	r, w := io.Pipe()
	resp.Body = r
	go func() {
		select {
		case <-time.After(b.long):
			w.CloseWithError(io.EOF)
		case <-req.Context().Done():
			w.CloseWithError(req.Context().Err())
		}
	}()
	return resp, nil
}

// TestTheBodyHasNoLimit: what a policy's time bounds ends with the answer's head; the context of the
// attempt ends with its body.
func TestTheBodyHasNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: slowBody{time.Hour}, Policy: Policy{AttemptTimeout: time.Second, CallTimeout: time.Second}}
		resp, err := tr.RoundTrip(newRequest(t, "GET", nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
		resp, err = tr.RoundTrip(newRequest(t, "GET", nil))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close() // else the bubble doesn't end for an hour
		start := time.Now()
		synctest.Wait()
		if time.Since(start) != 0 {
			t.Error("Close doesn't end the attempt's context")
		}
	})
}

// TestCapacityIsLeftAlone: waiting once more is an opt-in.
func TestCapacityIsLeftAlone(t *testing.T) {
	full := &pool.Error{Phase: pool.PhaseWait, Err: pool.ErrWaitTimeout}
	base := newScript(t, full)
	if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "GET", nil)); err != error(full) {
		t.Errorf("got %v", err)
	}
	base = newScript(t, full, full, status(200))
	if _, err := (&Transport{Base: base, Policy: atOnce(Policy{RetryCapacity: true})}).RoundTrip(newRequest(t, "POST", nil)); err != nil {
		t.Errorf("got %v", err)
	}
}
