package retry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// TestA11_SpellingDoesNotMatter: one drop, spelled as different builds spell it, always
// gets the same outcome. Only the phase makes a difference.
func TestA11_SpellingDoesNotMatter(t *testing.T) {
	spellings := []error{
		io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed,
		errors.New("SSL_read: unexpected eof while reading"),
		errors.New("curl: (52) Empty reply from server"),
		errors.New("curl: (56) Recv failure: Connection reset by peer"),
		errors.New("connection refused"), // a text that looks like another phase
		tls.AlertError(0), tls.RecordHeaderError{Msg: "bad record"},
		&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, // and such a class
		fmt.Errorf("wrapped: %w", io.EOF),
		nil,
	}
	req := newRequest(t, "POST", nil)
	for _, o := range matrixPhases {
		phase, want := o.Phase, Outcome{Method: "POST", Phase: o.Phase, HeadOnly: o.HeadOnly}
		for _, cause := range spellings {
			err := fmt.Errorf("middleware: %w", &pool.Error{Phase: phase, HeadOnly: o.HeadOnly, Err: cause})
			if got := observe(req, nil, err, trailUnknown); got != want {
				t.Errorf("%v, %v: got %+v, want %+v", phase, cause, got, want)
			}
		}
	}
}

// TestB1B2_ErrorsByVerb pins what each failure that rules B1 and B2 name means for each
// verb under Once, with the errors as the pool and the dialer report them.
func TestB1B2_ErrorsByVerb(t *testing.T) {
	dial := func(stage dialer.Stage, err error) error {
		return &pool.Error{Phase: pool.PhaseDial, Err: &dialer.Error{Stage: stage, Err: err}}
	}
	in := func(phase pool.Phase, err error) error { return &pool.Error{Phase: phase, Err: err} }
	const all, safe = "GET HEAD OPTIONS POST PUT PATCH DELETE", "GET HEAD"
	tests := []struct {
		name  string
		err   error
		verbs string
	}{
		{"connect timeout", dial(dialer.StageConnect, os.ErrDeadlineExceeded), all},
		{"TLS timeout", dial(dialer.StageTLS, context.DeadlineExceeded), all},
		{"ECONNREFUSED", dial(dialer.StageConnect, syscall.ECONNREFUSED), all},
		{"EHOSTUNREACH", dial(dialer.StageConnect, syscall.EHOSTUNREACH), all},
		{"ENETUNREACH", dial(dialer.StageConnect, syscall.ENETUNREACH), all},
		{"EADDRNOTAVAIL", dial(dialer.StageConnect, syscall.EADDRNOTAVAIL), all},
		{"ETIMEDOUT of connect", dial(dialer.StageConnect, syscall.ETIMEDOUT), all},
		{"resolver error", dial(dialer.StageResolve, &net.DNSError{Err: "no such host", IsNotFound: true}), all},
		{"resolver timeout", dial(dialer.StageResolve, &net.DNSError{Err: "timeout", IsTimeout: true}), all},
		{"proxy refuses", dial(dialer.StageProxy, errors.New("503")), all},
		{"reset in the handshake", dial(dialer.StageTLS, syscall.ECONNRESET), all},
		{"stale connection", in(pool.PhaseUnsent, io.EOF), all},
		{"ETIMEDOUT on a connection", in(pool.PhaseSent, syscall.ETIMEDOUT), safe},
		{"read timeout", in(pool.PhaseSent, os.ErrDeadlineExceeded), safe},
		{"write timeout", in(pool.PhaseSending, os.ErrDeadlineExceeded), safe},
		{"ECONNRESET", in(pool.PhaseSent, syscall.ECONNRESET), safe},
		{"EOF", in(pool.PhaseSent, io.EOF), safe},
		{"TLS error after the handshake", in(pool.PhaseSending, tls.AlertError(80)), safe},
		{"another transport's dial", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, all},
		{"another transport's lookup", &net.DNSError{Err: "no such host", IsNotFound: true}, all},
		{"another transport's proxy", &net.OpError{Op: "proxyconnect", Err: syscall.ECONNRESET}, all},
		{"another transport's dial, for a request of its own", &url.Error{Op: "Post", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, safe},
		{"another transport's read", &net.OpError{Op: "read", Err: syscall.ECONNREFUSED}, safe},
		{"another transport's error", syscall.ECONNREFUSED, safe},
		{"another transport's over our dialer", fmt.Errorf("x: %w", &dialer.Error{Stage: dialer.StageConnect, Err: syscall.ECONNREFUSED}), all},
		{"the same, for a request of its own", &url.Error{Op: "Post", Err: &dialer.Error{Stage: dialer.StageConnect, Err: syscall.ECONNREFUSED}}, safe},
		{"a dialer's, whose hook has asked for something before", &dialer.Error{Err: &url.Error{Op: "Get", Err: &dialer.Error{}}}, all},
		{"a pool's, for a request of its own", &url.Error{Op: "Post", Err: dial(dialer.StageConnect, syscall.ECONNREFUSED)}, safe + " OPTIONS"},
		{"the same, whose hook has asked for something before", dial(dialer.StageConnect, &url.Error{Op: "Get", Err: &pool.Error{Phase: pool.PhaseDial}}), all},
	}
	once := Once()
	for _, tt := range tests {
		got := ""
		for _, verb := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
			o := observe(newRequest(t, verb, nil), nil, tt.err, trailUnknown)
			o.BodyReplayable = true
			if once.Decide(o).Retry {
				got += verb + " "
			}
		}
		if got != tt.verbs+" " {
			t.Errorf("%s: retried for %sbut want %s", tt.name, got, tt.verbs)
		}
	}
}

func TestObserve(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	past, cancelPast := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancelPast()
	req := newRequest(t, "PUT", nil)
	late := lateContext{t.Context()}
	closedChannel := make(chan struct{})
	close(closedChannel)
	oldStyle := newRequest(t, "PUT", nil)
	oldStyle.Cancel = closedChannel //lint:ignore SA1019 it is honoured, so it is tested
	keyed := func(name string, value []string) *http.Request {
		r := newRequest(t, "PUT", nil)
		r.Header[name] = value
		return r
	}
	closed := &pool.Error{Phase: pool.PhaseWait, Err: pool.ErrClosed}
	refusedBy := func(status int) error {
		return &pool.Error{Phase: pool.PhaseDial, Err: &dialer.Error{Stage: dialer.StageProxy, Err: &dialer.ProxyError{Status: status, Err: errWire}}}
	}
	tests := []struct {
		name string
		req  *http.Request
		err  error
		want Outcome
	}{
		{"unknown error", req, errWire, Outcome{}},
		{"unknown timeout", req, os.ErrDeadlineExceeded, Outcome{Timeout: true}},
		{"dial, stage known", req, &pool.Error{Phase: pool.PhaseDial, Err: &dialer.Error{Stage: dialer.StageTLS, Err: errWire}}, Outcome{Phase: pool.PhaseDial, Stage: dialer.StageTLS}},
		{"a dialer.Error inside another phase proves nothing", req, &pool.Error{Phase: pool.PhaseSent, Err: &dialer.Error{Stage: dialer.StageTLS, Err: errWire}}, Outcome{Phase: pool.PhaseSent}},
		{"the outer pool.Error counts", req, &pool.Error{Phase: pool.PhaseSending, Err: failed(pool.PhaseUnsent)}, Outcome{Phase: pool.PhaseSending}},
		{"caller's body", req, &pool.Error{Phase: pool.PhaseSending, Err: &pool.CallerError{Source: pool.CallerBody, Err: errWire}}, Outcome{Phase: pool.PhaseSending, CallerFault: true}},
		{"hook's veto", req, &pool.Error{Phase: pool.PhaseUnsent, Err: &pool.CallerError{Source: pool.CallerHook, Err: errWire}}, Outcome{Phase: pool.PhaseUnsent, CallerFault: true}},
		{"a proxy that says no", req, refusedBy(407), Outcome{Phase: pool.PhaseDial, Stage: dialer.StageProxy, ProxySaidNo: true}},
		{"a proxy that can't now", req, refusedBy(503), Outcome{Phase: pool.PhaseDial, Stage: dialer.StageProxy}},
		{"a proxy that speaks no HTTP", req, refusedBy(0), Outcome{Phase: pool.PhaseDial, Stage: dialer.StageProxy, ProxySaidNo: true}},
		{"closed", req, closed, Outcome{Phase: pool.PhaseWait, Closed: true}},
		{"no capacity in time", req, &pool.Error{Phase: pool.PhaseWait, Err: pool.ErrWaitTimeout}, Outcome{Phase: pool.PhaseWait, Timeout: true}},
		{"cancelled", req.WithContext(ctx), failed(pool.PhaseDial), Outcome{Phase: pool.PhaseDial, Ended: true}},
		{"past its deadline", req.WithContext(past), failed(pool.PhaseDial), Outcome{Phase: pool.PhaseDial, Ended: true}},
		{"past its deadline, the timer hasn't fired", req.WithContext(late), failed(pool.PhaseDial), Outcome{Phase: pool.PhaseDial, Ended: true}},
		{"cancelled by its channel", oldStyle, failed(pool.PhaseDial), Outcome{Phase: pool.PhaseDial, Ended: true}},
		{"Idempotency-Key", keyed("Idempotency-Key", []string{"1"}), errWire, Outcome{Opted: OptInHeader}},
		{"X-Idempotency-Key, not sent on the wire", keyed("X-Idempotency-Key", []string{}), errWire, Outcome{Opted: OptInHeader}},
		{"a header that was switched off", keyed("Idempotency-Key", nil), errWire, Outcome{}},
		{"WithIdempotent", req.WithContext(WithIdempotent(t.Context())), errWire, Outcome{Opted: OptInCall}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Method = "PUT"
			if got := observe(tt.req, nil, tt.err, trailUnknown); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// A lateContext's deadline has passed, but it hasn't ended: what an I/O deadline that was
// taken from a context can get ahead of.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now(), true }
