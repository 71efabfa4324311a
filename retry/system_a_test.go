package retry_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// both runs a test on plain and on TLS connections.
func both(t *testing.T, f func(t *testing.T, secure bool)) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) { f(t, secure) })
	}
}

// TestA1_StaleConnection: the server closed a pooled connection. Any method is sent on a
// new one, and the server sees it once, whole.
func TestA1_StaleConnection(t *testing.T) {
	for _, preset := range []func() retry.Policy{retry.Default, retry.NeverTimeouts, retry.Once, retry.SafeOnly, retry.Off} {
		both(t, func(t *testing.T, secure bool) {
			for _, how := range []string{thenFIN, thenBare, thenRST} {
				for _, p := range payloads() {
					o := newOrigin(t, secure, []string{how})
					r := newRig(t, quick(preset()), nil, watched)
					r.wantOK(r.do("GET", o.url(), nil), 0)
					waitClosed(t, <-r.dials)
					r.wantOK(r.sendPayload(o.url(), p), 0) // the pool replaces it, nothing failed
					o.wantSeen(seen{method: "GET"}, p.seen())
				}
			}
		})
	}
}

// TestA1_BeforeTheFirstByte: the look before the request has found nothing, and the connection
// takes no byte of it. On a connection that was kept the pool replaces it; a new one costs a retry.
// The server sees the request once, whole, with either.
func TestA1_BeforeTheFirstByte(t *testing.T) {
	for _, name := range systems {
		for _, p := range payloads() {
			for kept := range 2 {
				policy, _ := retry.Named(name)
				o := newOrigin(t, true)
				calls := 0
				r := newRig(t, quick(policy), nil, func(r *rig, cfg *pool.Config) {
					watched(r, cfg)
					cfg.BeforeSend = func(*http.Request) error {
						if calls++; calls == 1+kept {
							return (<-r.dials).(*dialer.Conn).CloseWrite()
						}
						return nil
					}
				})
				var want []seen
				if kept == 1 {
					r.wantOK(r.do("GET", o.url(), nil), 0)
					want = append(want, seen{method: "GET"})
				}
				r.wantOK(r.sendPayload(o.url(), p), 1-kept)
				o.wantSeen(append(want, p.seen())...)
			}
		}
	}
}

// cuts are the ways in which a connection ends behind a request, spelled differently.
var cuts = []string{cutFIN, cutBare, cutRST, cutHead}

// TestA3_A11_SentAndLost: the server got the whole request and the connection ended
// without an answer. GET, HEAD and OPTIONS are repeated, the server sees them twice. POST
// and other writes are seen once, and their caller gets the transport error. However the
// end is spelled, the decision is the same.
func TestA3_A11_SentAndLost(t *testing.T) {
	both(t, func(t *testing.T, secure bool) {
		for _, cut := range cuts {
			t.Run(cut, func(t *testing.T) {
				for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
					o := newOrigin(t, secure, []string{cut})
					r := newRig(t, quick(retry.NeverTimeouts()), nil, nil)
					r.wantOK(r.do(method, o.url(), nil), 1)
					o.wantSeen(seen{method: method}, seen{method: method})
				}
				for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} { // B6
					o := newOrigin(t, secure, []string{serve, cut}) // a reused connection makes no difference
					r := newRig(t, quick(retry.NeverTimeouts()), nil, nil)
					r.wantOK(r.do("GET", o.url(), nil), 0)
					res := r.do(method, o.url(), strings.NewReader("data"), "Idempotency-Key", "strict A3: no opt-in")
					wantLost(t, res, cut)
					r.wantRetries(res, 0)
					o.wantSeen(seen{method: "GET"}, seen{method: method, body: "data"})
				}
			})
		}
	})
}

// wantLost checks for a transport error that says that the request was sent (B9).
func wantLost(t *testing.T, res result, cut string) {
	t.Helper()
	want := pool.PhaseSent
	if cut == cutHead {
		want = pool.PhaseResponse
	}
	e, ok := errors.AsType[*pool.Error](res.err)
	if !ok || e.Phase != want {
		t.Errorf("%s: got %v, want a *pool.Error of phase %v", cut, res.err, want)
	}
}

// TestA3_WhileSending: half of the upload was taken, then the connection was reset. It
// may not be sent again.
func TestA3_WhileSending(t *testing.T) {
	both(t, func(t *testing.T, secure bool) {
		o := newOrigin(t, secure, []string{half})
		r := newRig(t, quick(retry.NeverTimeouts()), nil, nil)
		res := r.do("POST", o.url(), bytes.NewReader(make([]byte, 8<<20)))
		e, ok := errors.AsType[*pool.Error](res.err)
		if !ok || e.Phase.Unprocessed() {
			t.Errorf("got %v, want a *pool.Error that may have been processed", res.err)
		}
		r.wantRetries(res, 0)
		o.wantSeen()
		if n := o.accepted(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

// TestA4_Timeouts: under NeverTimeouts neither a limit of the handshake nor one of the
// answer is retried. Default repeats the former only, Once both, for a GET.
func TestA4_Timeouts(t *testing.T) {
	const limit = 50 * time.Millisecond // of what never comes, so none is too short
	open := func(_ *rig, cfg *pool.Config) { cfg.Base.TLSHandshakeTimeout = limit }
	read := func(_ *rig, cfg *pool.Config) { cfg.Base.ResponseHeaderTimeout = limit }
	tests := []struct {
		name       string
		policy     retry.Policy
		open, read int // retries
	}{
		{"never-timeouts", retry.NeverTimeouts(), 0, 0},
		{"default", retry.Default(), 2, 0},
		{"once", retry.Once(), 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check := func(act string, limits func(*rig, *pool.Config), retries int) {
				o := newOrigin(t, true, []string{act}, []string{act}, []string{act})
				r := newRig(t, quick(tt.policy), nil, limits)
				res := r.do("GET", o.url(), nil)
				r.wantRetries(res, retries)
				var ne net.Error
				if !errors.As(res.err, &ne) || !ne.Timeout() {
					t.Errorf("%s: got %v, want a timeout", act, res.err)
				}
				if n := o.accepted(); n != retries+1 {
					t.Errorf("%s: %d connections, want %d", act, n, retries+1)
				}
			}
			check(hsSilence, open, tt.open)
			check(never, read, tt.read)
		})
	}
}

// TestA5_Answers: an HTTP answer is returned as it is, 1 attempt. SafeOnly repeats a 429
// with Retry-After, on the same connection.
func TestA5_Answers(t *testing.T) {
	for _, preset := range []func() retry.Policy{retry.Default, retry.NeverTimeouts, retry.Once} {
		for _, act := range []string{serve500, serve503, serve429} {
			o := newOrigin(t, true, []string{act})
			r := newRig(t, quick(preset()), nil, nil)
			res := r.do("GET", o.url(), nil)
			if res.err != nil || fmt.Sprint(res.status) != act || res.body != "no" {
				t.Errorf("got %+v, want status %s", res, act)
			}
			r.wantRetries(res, 0)
			o.wantSeen(seen{method: "GET"})
		}
	}
	o := newOrigin(t, true, []string{serve429, serve429, serve})
	r := newRig(t, quick(retry.SafeOnly()), nil, nil)
	r.wantOK(r.do("GET", o.url(), nil), 2)
	if n := o.accepted(); n != 1 {
		t.Errorf("A14: %d connections, want 1: the discarded answers leave theirs usable", n)
	}
}

// TestA7_WorstCase: three attempts at a refused port take at least 300 ms, and hardly more
// than 450 ms.
func TestA7_WorstCase(t *testing.T) {
	o := newOrigin(t, true)
	r := newRig(t, retry.NeverTimeouts(), []string{refused, refused, refused}, nil)
	start := time.Now()
	res := r.do("POST", o.url(), nil)
	took := time.Since(start)
	r.wantRetries(res, 2)
	if took < 300*time.Millisecond || took > 450*time.Millisecond+3*time.Second { // some seconds for a busy machine
		t.Errorf("took %v, want 300 ms to 450 ms", took)
	}
}
