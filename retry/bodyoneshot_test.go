package retry_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// headThenReset reads a request's head.
func headThenReset(w wire) func(net.Conn) {
	if !w.h2 {
		return func(c net.Conn) { http.ReadRequest(bufio.NewReader(c)) }
	}
	return func(c net.Conn) {
		io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		f := http2.NewFramer(c, c)
		f.WriteSettings()
		for {
			fr, err := f.ReadFrame()
			if err != nil || fr.Header().Type == http2.FrameHeaders {
				return
			}
		}
	}
}

// TestResendHeadOnly_OneShot: an upload that waits for 100 Continue meets a dead connection. It
// wasn't touched, so the next connection gets all of it, if the policy doesn't mind two heads.
func TestResendHeadOnly_OneShot(t *testing.T) {
	text := strings.Repeat("payload ", 1<<10)
	for _, tt := range []struct {
		name    string
		p       retry.Policy
		retries int
	}{
		{"by the policy", retry.Policy{ResendHeadOnly: true}, 1},
		{"not by default", retry.Default(), 0},
		{"nor if one-shot bodies are left alone", retry.Policy{ResendHeadOnly: true, LeaveOneShot: true}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, w wire) {
				if w.stock {
					t.SkipNow() // it doesn't tell that the body wasn't sent
				}
				var s *site
				s = w.start(t, headThenReset(w), func(_ http.ResponseWriter, r *http.Request) { s.take(r) })
				c := &counted{}
				body := &countedStream{c, strings.NewReader(text)}
				retries, err := s.call(t, tt.p, func(req *http.Request) {
					*req = *req.WithContext(retry.WithPolicy(t.Context(), quick(tt.p))) // without the opt-in
					req.Method = "POST"
					req.Header.Set("Expect", "100-continue")
					req.Body, req.ContentLength = body, int64(len(text))
				})
				if tt.retries == 1 {
					if err != nil {
						t.Errorf("got %v", err)
					}
					s.wantWhole(t, text)
				} else {
					e, ok := errors.AsType[*pool.Error](err)
					if !ok || !e.HeadOnly || e.BodyTouched || e.Phase.Unprocessed() {
						t.Errorf("got %+v after %d retries; want the head only, the body untouched", err, retries)
					}
					s.wantWhole(t)
				}
				if (c.reads == 0) != (tt.retries == 0) || c.closes != 1 {
					t.Errorf("the body was read %d times and closed %d times", c.reads, c.closes)
				}
			})
		})
	}
}

// refuses refuses a stream on an HTTP/2 connection, and all later ones: with its head, or when its
// body is there.
func refuses(behindBody bool) func(net.Conn) {
	return func(c net.Conn) {
		io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		f := http2.NewFramer(c, c)
		f.WriteSettings()
		for {
			fr, err := f.ReadFrame()
			if err != nil {
				return // the client has closed what it can't use
			}
			h := fr.Header()
			if !behindBody && h.Type == http2.FrameHeaders || h.Type == http2.FrameData && h.Flags.Has(http2.FlagDataEndStream) {
				f.WriteRSTStream(h.StreamID, http2.ErrCodeRefusedStream)
				f.WriteGoAway(h.StreamID, http2.ErrCodeNo, nil)
			}
		}
	}
}

// TestRefusedOneShot: a stream that is refused before the body was read is sent again; behind
// that the error says both that nothing was processed and that the body is gone.
func TestRefusedOneShot(t *testing.T) {
	text := strings.Repeat("payload ", 1<<10)
	for name, behindBody := range map[string]bool{"before the body": false, "behind it": true} {
		t.Run(name, func(t *testing.T) {
			var s *site
			s = wire{secure: true, h2: true}.start(t, refuses(behindBody), func(_ http.ResponseWriter, r *http.Request) { s.take(r) })
			c := &counted{}
			retries, err := s.call(t, retry.Default(), func(req *http.Request) {
				req.Method = "POST"
				if !behindBody {
					req.Header.Set("Expect", "100-continue")
				}
				req.Body, req.ContentLength = &countedStream{c, strings.NewReader(text)}, int64(len(text))
			})
			if !behindBody {
				if err != nil || retries != 1 {
					t.Errorf("got %v after %d retries, want one", err, retries)
				}
				s.wantWhole(t, text)
			} else {
				e, ok := errors.AsType[*pool.Error](err)
				if !ok || e.Phase != pool.PhaseRefused || !e.BodyTouched || retries != 0 {
					t.Errorf("got %v after %d retries; want it refused, with the body touched", err, retries)
				}
				s.wantWhole(t)
			}
			if c.reads == 0 || c.closes != 1 {
				t.Errorf("the body was read %d times and closed %d times", c.reads, c.closes)
			}
		})
	}
}

// A countedStream can be had once.
type countedStream struct {
	c *counted
	r io.Reader
}

func (s *countedStream) Read(p []byte) (int, error) { s.c.reads++; return s.r.Read(p) }
func (s *countedStream) Close() error               { s.c.closes++; return nil }
