package retry

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// claims reports whether err, or what is found in it, says that no server has processed the request.
func claims(err error) bool {
	u, ok := errors.AsType[interface {
		error
		Unprocessed() bool
	}](err)
	e, isPool := errors.AsType[*pool.Error](err)
	return ok && u.Unprocessed() || isPool && e.Unprocessed()
}

// TestCauseOfAnotherCall: one of several calls fails to connect, and its error is the cause with
// which the context of the others ends, as errgroup does it. It's no proof for those.
func TestCauseOfAnotherCall(t *testing.T) {
	for _, other := range []error{
		failed(pool.PhaseDial),
		&dialer.Error{Stage: dialer.StageConnect, Err: syscall.ECONNREFUSED},
		&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		&net.DNSError{IsNotFound: true},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var seen Decision
		tr := &Transport{
			Base: baseFunc(func(req *http.Request) (*http.Response, error) { // net/http does so
				cancel(other)
				return nil, context.Cause(req.Context())
			}),
			OnDecision: func(d Decision) { seen = d },
		}
		if _, err := tr.RoundTrip(newRequest(t, "POST", nil).WithContext(ctx)); err != other {
			t.Errorf("%T: got %v", other, err)
		}
		if seen.Reason != ReasonEnded || seen.Attempt.Evidence.Unprocessed() || seen.Attempt.Proof != ProofNone {
			t.Errorf("%T: %+v", other, seen)
		}
	}
}

// TestCauseDuringTheWait: the same, while the call waits for its next attempt.
func TestCauseDuringTheWait(t *testing.T) {
	for _, tt := range []struct {
		ends []any
		want bool
	}{
		{[]any{failed(pool.PhaseSent)}, false},
		{[]any{failed(pool.PhaseDial)}, true},
		{[]any{failed(pool.PhaseDial), failed(pool.PhaseSent)}, false},
		{[]any{failed(pool.PhaseSent), failed(pool.PhaseDial)}, false},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		tr := &Transport{Base: newScript(t, tt.ends...), Policy: atOnce(Default()), OnDecision: func(Decision) {
			if n++; n == len(tt.ends) {
				cancel(failed(pool.PhaseWait))
			}
		}}
		_, err := tr.RoundTrip(newRequest(t, "GET", nil).WithContext(ctx))
		s, stopped := errors.AsType[*StoppedError](err)
		if !stopped || s.Unprocessed() != tt.want || !errors.Is(err, context.Canceled) {
			t.Errorf("%v: got %v", tt.ends, err)
		}
		u, _ := errors.AsType[interface {
			error
			Unprocessed() bool
		}](err)
		e, _ := errors.AsType[*pool.Error](err)
		if u.Unprocessed() != tt.want || e != tt.ends[n-1] {
			t.Errorf("%v: claimed: %v; the pool's error is %v", tt.ends, u.Unprocessed(), e)
		}
	}
}

// TestNoAttemptsProveNothing, in an Error that somebody has made.
func TestNoAttemptsProveNothing(t *testing.T) {
	if claims(&Error{Err: io.EOF}) || claims(&StoppedError{Err: io.EOF, Last: io.EOF}) {
		t.Error("an error without attempts claims to be unprocessed")
	}
}

// TestHeadOnlyAfterAnother: what another layer has sent before isn't undone by a last attempt of
// which the head alone was sent.
func TestHeadOnlyAfterAnother(t *testing.T) {
	head := failed(pool.PhaseSending)
	head.HeadOnly = true
	base := newScript(t, failed(pool.PhaseSent), head)
	inner := &Transport{Base: base, Policy: atOnce(Policy{MaxRetries: 1, Repeatable: []string{"POST"}})}
	outer := &Transport{Base: inner, Policy: atOnce(Policy{ResendHeadOnly: true})}
	if _, err := outer.RoundTrip(newRequest(t, "POST", nil)); !errors.Is(err, errWire) || claims(err) {
		t.Error(err)
	}
	base.wantAttempts(2)
}

// TestADialMayNotBeTheFirst: where nobody has looked at the connections, a dial's error proves
// nothing of what net/http may have sent before by itself, nor what wraps it.
func TestADialMayNotBeTheFirst(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	keyed := newRequest(t, "POST", nil)
	keyed.Header.Set("Idempotency-Key", "1")
	for _, tt := range []struct {
		req  *http.Request
		t    trail
		want Evidence
	}{
		{newRequest(t, "POST", nil), trailUnknown, EvidenceNeverSent},
		{newRequest(t, "GET", nil), trailUnknown, EvidenceMaybeSent},
		{newRequest(t, "TRACE", nil), trailUnknown, EvidenceMaybeSent},
		{keyed, trailUnknown, EvidenceMaybeSent},
		{newRequest(t, "GET", nil), trailNone, EvidenceNeverSent},
		{newRequest(t, "GET", nil), trailUntouched, EvidenceNeverSent},
		{newRequest(t, "POST", nil), trailUsed, EvidenceMaybeSent},
	} {
		o := observe(tt.req, nil, dial, tt.t)
		if o.Phase != pool.PhaseDial || o.evidence() != tt.want {
			t.Errorf("%s, trail %d: %+v, want %v", tt.req.Method, tt.t, o, tt.want)
		}
	}
}
