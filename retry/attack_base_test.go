package retry_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A baseFunc is a Base as somebody may have written it.
type baseFunc func(*http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newReq makes a request whose body can be had again, if it isn't empty.
func newReq(t *testing.T, rep *retry.Report, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(retry.WithReport(t.Context(), rep), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestBaseReturnsNothing: neither an answer nor an error is an error, which proves nothing.
func TestBaseReturnsNothing(t *testing.T) {
	for _, p := range []retry.Policy{retry.Default(), retry.Off(), {AttemptTimeout: time.Minute}} {
		for method, retries := range map[string]int{"GET": 2, "POST": 0} {
			if p.MaxRetries < 0 {
				retries = 0
			}
			sent := 0
			tr := &retry.Transport{Policy: quick(p), Base: baseFunc(func(*http.Request) (*http.Response, error) { sent++; return nil, nil })}
			var rep retry.Report
			if resp, err := tr.RoundTrip(newReq(t, &rep, method, "http://x/", "body")); resp != nil || err == nil || sent != 1+retries {
				t.Errorf("%s: sent %d times, %v, %v", method, sent, resp, err)
			}
		}
	}
}

// TestBaseReturnsBoth: an answer beside an error is none; each but the last is closed, once,
// and the report is given once.
func TestBaseReturnsBoth(t *testing.T) {
	var bodies []*closes
	tr := &retry.Transport{Policy: quick(retry.Default()), Base: baseFunc(func(*http.Request) (*http.Response, error) {
		bodies = append(bodies, new(closes))
		return &http.Response{StatusCode: 200, Body: bodies[len(bodies)-1]}, io.ErrUnexpectedEOF
	})}
	var rep retry.Report
	_, err := tr.RoundTrip(newReq(t, &rep, "GET", "http://x/", ""))
	if !errors.Is(err, io.ErrUnexpectedEOF) || rep.Retries != 2 || len(rep.Attempts) != 3 || tr.Stats().Absorbed != 0 || tr.Stats().Failed != 1 {
		t.Errorf("%v, %d retries, %d attempts in the report, %+v", err, rep.Retries, len(rep.Attempts), tr.Stats())
	}
	for i, b := range bodies[:len(bodies)-1] {
		if *b != 1 {
			t.Errorf("answer %d was closed %d times", i+1, *b)
		}
	}
}

type closes int

func (c *closes) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closes) Close() error             { *c++; return nil }

// TestAClientInside follows a redirect by itself, to where nobody listens: the error is that of a
// dial, by everybody's types, and the request was executed.
func TestAClientInside(t *testing.T) {
	var executed atomic.Int32
	dead := httptest.NewServer(nil)
	dead.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		executed.Add(1)
		http.Redirect(w, r, dead.URL, http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	pooled, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer pooled.Close()
	for name, base := range map[string]http.RoundTripper{
		"net/http": &http.Transport{}, "our dialer": &http.Transport{DialContext: new(dialer.Dialer).DialContext}, "our pool": pooled,
		"ourselves": &retry.Transport{Base: pooled, Policy: quick(retry.Default())},
	} {
		executed.Store(0)
		inside := &http.Client{Transport: base}
		defer inside.CloseIdleConnections()
		tr := &retry.Transport{Policy: quick(retry.Default()), Base: baseFunc(func(req *http.Request) (*http.Response, error) {
			return inside.Do(req.Clone(req.Context()))
		})}
		_, err := tr.RoundTrip(newReq(t, nil, "POST", srv.URL, "body"))
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" || executed.Load() != 1 {
			t.Errorf("%s: executed %d times, %v", name, executed.Load(), err)
		}
	}
}

// TestNotYetWritten: over HTTP/2 net/http's RoundTrip returns as soon as the context has ended. Its
// connection has accepted nothing then, and may still accept the request afterwards.
func TestNotYetWritten(t *testing.T) {
	var executed atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			executed.Add(1)
		}
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	g, err := pool.NewGuard(pool.GuardConfig{})
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{DialContext: g.DialContext, ForceAttemptHTTP2: true, TLSClientConfig: srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()}
	base.TLSClientConfig.NextProtos = nil
	defer base.CloseIdleConnections()
	decided := make(chan retry.Decision, 4)
	var first, hook sync.Once
	over := make(chan struct{})
	tr := &retry.Transport{Base: base, OnDecision: func(d retry.Decision) { decided <- d; first.Do(func() { close(over) }) }}
	resp, err := tr.RoundTrip(newReq(t, nil, "GET", srv.URL, "")) // opens the connection
	if err != nil || resp.ProtoMajor != 2 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()

	req := newReq(t, nil, "POST", srv.URL, "")
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaderField: func(string, []string) {
		hook.Do(func() { <-over }) // the attempt, by its limit
	}})
	p := quick(retry.Default())
	p.AttemptTimeout = 50 * time.Millisecond
	if _, err := tr.RoundTrip(req.WithContext(retry.WithPolicy(ctx, p))); err == nil {
		t.Error("no error")
	}
	if d := <-decided; d.Retry || d.Attempt.Evidence.Unprocessed() || executed.Load() > 1 {
		t.Errorf("executed %d times, %+v", executed.Load(), d)
	}
}

// TestReportOfItsOwnCall: a request that has its context from an earlier answer's has none
// of its report; and an answer has its report also if Base sends a copy of the request.
func TestReportOfItsOwnCall(t *testing.T) {
	lost := 1
	base := baseFunc(func(req *http.Request) (*http.Response, error) {
		if lost--; lost >= 0 {
			return nil, io.EOF
		}
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req.Clone(req.Context())}, nil
	})
	tr := &retry.Transport{Base: base, Policy: quick(retry.Default())}
	resp, err := tr.RoundTrip(newReq(t, nil, "GET", "http://x/1", ""))
	if err != nil || retry.ReportOf(resp) == nil || retry.ReportOf(resp).Retries != 1 {
		t.Fatalf("%+v, %v", retry.ReportOf(resp), err)
	}
	for _, base := range []http.RoundTripper{base, baseFunc(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req}, nil
	})} {
		next, err := (&retry.Transport{Base: base}).RoundTrip(newReq(t, nil, "GET", "http://x/2", "").WithContext(resp.Request.Context()))
		if err != nil || retry.ReportOf(next) != nil {
			t.Errorf("%+v, %v", retry.ReportOf(next), err)
		}
	}
}
