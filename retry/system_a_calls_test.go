package retry_test

import (
	"errors"
	"io"
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
		func(c *http.Client, u string) (*http.Response, error) {
			body, contentType := multipartUpload()
			return c.Post(u, contentType, strings.NewReader(body))
		},
		func(c *http.Client, u string) (*http.Response, error) { // of unknown length, and only once to be had
			return c.Post(u, "text/plain", io.MultiReader(strings.NewReader("x")))
		},
		func(c *http.Client, u string) (*http.Response, error) {
			req, err := http.NewRequest("DELETE", u, nil)
			if err != nil {
				return nil, err
			}
			return c.Do(req)
		},
	}
	for i, way := range ways {
		o := newOrigin(t, true)
		policy := quick(retry.NeverTimeouts())
		policy.LeaveOneShot = false // that is rule A6
		r := newRig(t, policy, []string{refused, noHost}, nil)
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

// TestA12_OnTheWire: the same over TLS, with a real failure in which nothing tells the phase:
// sent or never sent, there is no way to know, so that a POST has one attempt.
func TestA12_OnTheWire(t *testing.T) {
	for _, w := range []way{unsentWays[0], unsentWays[8], sentWays[0], sentWays[2]} {
		for _, name := range systems {
			for _, verb := range verbs {
				policy, _ := retry.Named(name)
				o, r := w.start(t, retry.Off(), 4)
				r.Client.Transport = &retry.Transport{Base: mute{r.pool}, Policy: quick(policy)}
				res := r.do(verb, o.url(), nil)
				want := 1
				if slices.Contains(mayRepeat[name], verb) {
					want = map[string]int{"once": 2}[name]
					if want == 0 {
						want = 3
					}
				}
				if res.err == nil || res.report.Retries != want-1 {
					t.Errorf("%s, %s, %s: %d retries, want %d: %v", w.name, name, verb, res.report.Retries, want-1, res.err)
				}
				if n := len(o.requests()); n != want && !w.phase.Unprocessed() {
					t.Errorf("%s, %s, %s: the server saw %d requests, want %d", w.name, name, verb, n, want)
				}
			}
		}
	}
}

// A mute transport fails with texts.
type mute struct{ next http.RoundTripper }

func (m mute) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := m.next.RoundTrip(req)
	if err != nil {
		err = errors.New(err.Error())
	}
	return resp, err
}
