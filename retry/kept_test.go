package retry

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/connwise/pool"
)

// A stubPool is a Base that is taken for a *pool.Transport.
type stubPool struct{ acts }

func (s *stubPool) Attempt(req *http.Request) (*http.Response, error) { return s.RoundTrip(req) }

// TestKept: readers of memory behind io.NopCloser are given to a pool as they are, and count
// as touched when something of the request has left.
func TestKept(t *testing.T) {
	bodies := map[string]func() io.Reader{
		"bytes.Reader":   func() io.Reader { return bytes.NewReader([]byte("data")) },
		"strings.Reader": func() io.Reader { return strings.NewReader("data") },
		"bytes.Buffer":   func() io.Reader { return bytes.NewBufferString("data") },
		"moved on":       func() io.Reader { r := strings.NewReader("header:data"); r.Seek(7, io.SeekStart); return r },
	}
	sent := func(phase pool.Phase, n int64) error {
		e := failed(phase)
		e.Sent = n
		return e
	}
	for name, body := range bodies {
		for _, tt := range []struct {
			first act
			again bool
		}{
			{leaves(sent(pool.PhaseDial, 0)), true},
			{reads(5, sent(pool.PhaseUnsent, 0)), true}, // taken to be sent with the head, and not sent
			{leaves(sent(pool.PhaseRefused, 0)), true},
			{leaves(sent(pool.PhaseRefused, 100)), true},
			{reads(5, sent(pool.PhaseRefused, 104)), false},
			{reads(5, sent(pool.PhaseSent, 104)), false},
			{reads(1, errors.New("of an unknown kind")), false},
			{leaves(nil), false}, // an answer: it may be read from now
		} {
			req := newRequest(t, "GET", nil)
			req.Body, req.ContentLength = io.NopCloser(body()), 4
			base := &stubPool{acts{t: t, acts: []act{tt.first}}}
			if tt.again {
				base.acts.acts = append(base.acts.acts, takes(t, "data"))
			}
			given := req.Body
			first := base.acts.acts[0]
			base.acts.acts[0] = func(req *http.Request) (*http.Response, error) {
				if req.Body != given {
					t.Errorf("%s: the pool got a %T", name, req.Body)
				}
				if _, err := first(req); err != nil {
					return nil, err
				}
				return status(503, "Retry-After", "0"), nil
			}
			p := atOnce(Policy{RetryStatuses: []int{503}})
			if resp, err := overPool(base, p).RoundTrip(req); (err == nil && resp.StatusCode == 200) != tt.again {
				t.Errorf("%s: got %v, %v", name, resp, err)
			}
			if base.made != len(base.acts.acts) {
				t.Errorf("%s: %d attempts, want %d", name, base.made, len(base.acts.acts))
			}
		}
	}
}
