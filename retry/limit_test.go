package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"example.com/connwise/pool"
)

// A baseFunc is a Base.
type baseFunc func(*http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestAnAnswerAtTheLimit: an answer that comes when the attempt's time is over is no answer, as its
// body is cut by the same limit.
func TestAnAnswerAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var body closings
		tr := &Transport{Policy: Policy{AttemptTimeout: time.Second}, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			resp := status(200)
			resp.Body = &body
			return resp, nil
		})}
		resp, err := tr.RoundTrip(newRequest(t, "GET", nil))
		if _, ok := errors.AsType[*TimeoutError](err); !ok || resp != nil {
			t.Errorf("got %v, %v", resp, err)
		}
		if e, ok := errors.AsType[*pool.Error](err); !ok || e.Phase != pool.PhaseResponse || !e.Timeout() || e.Host != "api.test" {
			t.Errorf("got %#v", err)
		}
		if body != 1 {
			t.Errorf("the answer was closed %d times", body)
		}
	})
}

// closings is an empty body that counts its closings.
type closings int

func (*closings) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closings) Close() error           { *c++; return nil }

// TestALimitIsNoCancellation: not even where Base has made a context of the attempt's, which the
// limit cancels; and Base's own error is still found.
func TestALimitIsNoCancellation(t *testing.T) {
	for name, wrap := range map[string]func(error) error{
		"bare":    func(err error) error { return err },
		"wrapped": func(err error) error { return &pool.Error{Phase: pool.PhaseDial, Err: err} },
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &Transport{Policy: Policy{AttemptTimeout: time.Second, MaxRetries: -1}, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
				ctx, cancel := context.WithCancel(req.Context())
				defer cancel()
				<-ctx.Done()
				return nil, wrap(ctx.Err())
			})}
			_, err := tr.RoundTrip(newRequest(t, "GET", nil))
			if errors.Is(err, context.Canceled) || !errors.Is(err, context.DeadlineExceeded) || !timedOut(err) {
				t.Errorf("%s: got %v", name, err)
			}
			if _, ok := errors.AsType[*pool.Error](err); ok != (name == "wrapped") {
				t.Errorf("%s: what Base said isn't found: %v", name, err)
			}
		})
	}
}

// TestALimitOverNetHTTP: a limit reads as one over both of its protocols, and the caller's own end
// as that.
func TestALimitOverNetHTTP(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		stop := make(chan struct{}) // not the end of a request's context: net/http may read what is said then
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
		srv.EnableHTTP2 = h2
		srv.StartTLS()
		for _, cancelled := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			limit := 20 * time.Millisecond
			if cancelled {
				limit = time.Hour
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			tr := &Transport{Base: srv.Client().Transport, Policy: Policy{AttemptTimeout: limit}}
			req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
			_, err := (&http.Client{Transport: tr}).Do(req)
			if errors.Is(err, context.Canceled) != cancelled || errors.Is(err, context.DeadlineExceeded) == cancelled {
				t.Errorf("HTTP/2 %v, cancelled %v: %v", h2, cancelled, err)
			}
			cancel()
		}
		close(stop)
		srv.Close()
	}
}

// TestUploadBehindALimitedAnswer: an upload that goes on behind the answer's end, as a pool lets
// it, isn't cut by a limit that was kept; it ends with the answer's Close. Without one the answer's end
// is enough.
func TestUploadBehindALimitedAnswer(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		var attempt context.Context
		tr := &Transport{Policy: Policy{AttemptTimeout: time.Minute}, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
			attempt = req.Context()
			resp := status(200)
			resp.Body = new(closings)
			return resp, nil
		})}
		req := newRequest(t, method, nil)
		if method == "POST" {
			req.Body = io.NopCloser(iotest.ErrReader(errWire))
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Body.Read(nil); err != io.EOF {
			t.Error(err)
		}
		if ended := attempt.Err() != nil; ended != (method == "GET") {
			t.Errorf("%s: the attempt's context has ended with the answer: %v", method, ended)
		}
		if resp.Body.Close(); attempt.Err() == nil {
			t.Errorf("%s: Close doesn't end the attempt's context", method)
		}
	}
}
