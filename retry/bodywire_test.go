package retry_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// What the server sees of bodies, over every protocol.

// TestSecondAttemptIsWholeOrNone: the first attempt is cut when its body was read. The second one
// has the same bytes, or never looks whole to the server.
func TestSecondAttemptIsWholeOrNone(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<12) // 64 KiB
	file := func(truncated bool, length int64) func(*testing.T, *http.Request) func() {
		return func(t *testing.T, req *http.Request) func() {
			name := filepath.Join(t.TempDir(), "upload")
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			req.Body, req.ContentLength = f, length
			return func() {
				if truncated {
					os.Truncate(name, 0)
				}
			}
		}
	}
	once := func(length int64) func(*testing.T, *http.Request) func() {
		return func(_ *testing.T, req *http.Request) func() {
			req.Body, req.ContentLength = readCloser{strings.NewReader(text), io.NopCloser(nil)}, length
			return func() {}
		}
	}
	same := func(length int64) func(*testing.T, *http.Request) func() {
		return func(t *testing.T, req *http.Request) func() {
			once(length)(t, req)
			body := req.Body
			req.GetBody = func() (io.ReadCloser, error) { return body, nil }
			return func() {}
		}
	}
	size := int64(len(text))
	for _, tt := range []struct {
		name     string
		load     func(*testing.T, *http.Request) (between func())
		attempts int // that are begun
		whole    int // that arrive whole
	}{
		{"file", file(false, size), 2, 2},
		{"file of unknown length", file(false, -1), 2, 2},
		{"truncated file", file(true, size), 2, 1},
		{"truncated file of unknown length", file(true, -1), 2, 1},
		{"GetBody returns the same reader", same(size), 2, 1},
		{"the same, of unknown length", same(-1), 2, 1},
		{"one-shot", once(size), 1, 1},
		{"one-shot of unknown length", once(-1), 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, w wire) {
				var s *site
				var between func()
				var n atomic.Int32
				s = w.start(t, nil, func(_ http.ResponseWriter, r *http.Request) {
					s.take(r)
					if n.Add(1) == 1 {
						between()
						panic(http.ErrAbortHandler)
					}
				})
				retries, err := s.call(t, retry.Policy{MaxRetries: 1}, func(req *http.Request) { between = tt.load(t, req) })
				if (err == nil) != (tt.whole == 2) || retries != tt.attempts-1 {
					t.Errorf("got %v after %d retries", err, retries)
				}
				if _, callers := errors.AsType[*pool.CallerError](err); !w.stock && callers != (tt.attempts != tt.whole) {
					t.Errorf("the caller's fault: %v; %v", callers, err)
				}
				s.wantWhole(t, []string{text, text}[:tt.whole]...)
			})
		})
	}
}

// TestDiscardOnTheWire: discarded answers leave their connection usable; an endless one costs
// another connection at most.
func TestDiscardOnTheWire(t *testing.T) {
	for name, endless := range map[string]bool{"4 KiB": false, "endless": true} {
		t.Run(name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, w wire) {
				var n atomic.Int32
				page := make([]byte, 4<<10)
				s := w.start(t, nil, func(rw http.ResponseWriter, r *http.Request) {
					if n.Add(1) > 2 {
						rw.Write(page)
						return
					}
					rw.Header().Set("Retry-After", "0")
					rw.WriteHeader(503)
					for {
						if _, err := rw.Write(page); err != nil || !endless || n.Load() == 2 {
							return
						}
					}
				})
				retries, err := s.call(t, retry.Policy{RetryStatuses: []int{503}}, func(*http.Request) {})
				if err != nil || retries != 2 {
					t.Errorf("got %v after %d retries", err, retries)
				}
				if conns := int(s.conns.Load()); conns > 1 && !endless || conns > 2 {
					t.Errorf("%d connections", conns)
				}
			})
		})
	}
}

// TestUntouchedOneShotGoesOn: a body that can be had once survives connections that are refused
// or end in their handshake, and arrives whole.
func TestUntouchedOneShotGoesOn(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	for _, length := range []int64{int64(len(text)), -1} {
		o := newOrigin(t, true, []string{hsRST})
		c := &counted{}
		r := newRig(t, quick(retry.Default()), []string{refused}, nil)
		req, err := http.NewRequestWithContext(t.Context(), "POST", o.url(), &countedStream{c, strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		r.wantOK(r.send(req), 2)
		o.wantSeen(seen{method: "POST", body: text})
		if c.closes != 1 {
			t.Errorf("the body was closed %d times", c.closes)
		}
	}
}
