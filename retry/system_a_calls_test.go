package retry_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// wantRefused checks A8: the error is found exactly as without retries.
func wantRefused(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*pool.Error](err)
	d, isDial := errors.AsType[*dialer.Error](err)
	_, isURL := errors.AsType[*url.Error](err)
	_, isOp := errors.AsType[*net.OpError](err)
	if !errors.Is(err, syscall.ECONNREFUSED) || !ok || !isDial || !isURL || !isOp {
		t.Errorf("got %v, want ECONNREFUSED in its usual wrapping", err)
		return
	}
	if e.Phase != pool.PhaseDial || d.Stage != dialer.StageConnect {
		t.Errorf("phase %v, stage %v", e.Phase, d.Stage)
	}
}

// TestA8_OriginalError: out of retries, switched off, or not allowed, it's the same error.
func TestA8_OriginalError(t *testing.T) {
	o := newOrigin(t, true)
	for _, p := range []retry.Policy{retry.NeverTimeouts(), retry.Once(), retry.Default(), retry.Off()} {
		r := newRig(t, quick(p), []string{refused, refused, refused}, nil)
		wantRefused(t, r.do("POST", o.url(), strings.NewReader("x")).err)
	}
	o.wantSeen()
}

// TestA9_B8_Success: calls that succeed at once make no more connections or attempts, and
// have nothing to report.
func TestA9_B8_Success(t *testing.T) {
	o := newOrigin(t, true)
	r := newRig(t, retry.Default(), nil, nil)
	for range 50 {
		res := r.do("POST", o.url(), strings.NewReader("x"))
		r.wantOK(res, 0)
		if res.report.Errors != nil {
			t.Errorf("reported %v", res.report.Errors)
		}
	}
	if n := o.accepted(); n != 1 || len(o.requests()) != 50 {
		t.Errorf("%d connections, %d requests; want 1 and 50", n, len(o.requests()))
	}
}

// TestA10_EveryRequest: whatever the client's method of sending, the layer covers it.
func TestA10_EveryRequest(t *testing.T) {
	ways := []func(c *http.Client, u string) (*http.Response, error){
		func(c *http.Client, u string) (*http.Response, error) { return c.Get(u) },
		func(c *http.Client, u string) (*http.Response, error) { return c.Head(u) },
		func(c *http.Client, u string) (*http.Response, error) { return c.PostForm(u, url.Values{"a": {"1"}}) },
		func(c *http.Client, u string) (*http.Response, error) {
			return c.Post(u, "text/plain", strings.NewReader("x"))
		},
	}
	for i, way := range ways {
		o := newOrigin(t, true)
		r := newRig(t, quick(retry.NeverTimeouts()), []string{refused, noHost}, nil)
		resp, err := way(r.Client, o.url())
		if err != nil {
			t.Errorf("way %d: %v", i, err)
			continue
		}
		resp.Body.Close()
		if n := len(o.requests()); n != 1 {
			t.Errorf("way %d: the server saw %d requests", i, n)
		}
	}
}

// TestA12_UnknownPhase: over a transport that reports no phase, only GET, HEAD and OPTIONS
// are retried, whatever its error says.
func TestA12_UnknownPhase(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"} {
		base := &losing{err: &net.OpError{Op: "write", Err: syscall.ECONNREFUSED}}
		rt := &retry.Transport{Base: base, Policy: quick(retry.NeverTimeouts())}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://api.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rt.RoundTrip(req); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
		want := 1
		if slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, method) {
			want = 3
		}
		if base.attempts != want {
			t.Errorf("%s: %d attempts, want %d", method, base.attempts, want)
		}
	}
}

// A losing base loses each request.
type losing struct {
	err      error
	attempts int
}

func (l *losing) RoundTrip(*http.Request) (*http.Response, error) {
	l.attempts++
	return nil, l.err
}
