package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A polite body's Close waits for the Read that is under way.
type polite struct {
	*stuck
	done chan struct{} // closed with the Read
}

func (p *polite) Close() error { <-p.done; return p.stuck.Close() }

// TestI7_CloseThatWaits: a call doesn't hang in the Close of a body whose Read hangs.
func TestI7_CloseThatWaits(t *testing.T) {
	s := &stuck{newTape("data"), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	body := &polite{s, make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := (&Transport{Base: stuckReader{s, body.done}, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "GET", body).WithContext(ctx))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	wantUse(t, s.stream, 0, 0)
	close(s.leave)
	<-s.closed
}

// An ender is a stream whose Close matters.
type ender struct {
	*stream
	end func() error
}

func (e *ender) Close() error { e.stream.Close(); return e.end() }

// TestOneShotClose: the attempt that has read from the body closes it, as it would without
// retry: what Close returns and does is part of sending it.
func TestOneShotClose(t *testing.T) {
	broken := errors.New("checksum is wrong")
	for _, text := range []string{"data", ""} {
		s := &ender{newStream(text), func() error { return broken }}
		var got error
		err := play(t, Default(), "POST", -1, s, leaves(failed(pool.PhaseDial)), func(req *http.Request) (*http.Response, error) {
			if _, closes := s.used(); closes != 0 {
				t.Error("the body was closed by an attempt that had not read from it")
			}
			io.ReadAll(req.Body)
			got = req.Body.Close()
			if _, closes := s.used(); closes != 1 {
				t.Errorf("%q: closed %d times by the attempt that has read all", text, closes)
			}
			if again := req.Body.Close(); again != nil {
				t.Errorf("a second Close: %v", again)
			}
			return nil, &pool.Error{Phase: pool.PhaseSending, Err: &pool.CallerError{Source: pool.CallerBody, Err: got}}
		})
		if got != broken || !errors.Is(err, broken) {
			t.Errorf("%q: Close gave %v, the call %v", text, got, err)
		}
		wantUse(t, s.stream, 1, 1)
	}
}

// TestOneShotCloseUnblocks: to close a body is what ends the Read of a pipe.
func TestOneShotCloseUnblocks(t *testing.T) {
	r, w := io.Pipe()
	e := failed(pool.PhaseSending)
	err := play(t, Default(), "POST", -1, r, func(req *http.Request) (*http.Response, error) {
		done := make(chan error)
		go func() {
			io.ReadFull(req.Body, make([]byte, 2))
			_, err := req.Body.Read(make([]byte, 1))
			done <- err
		}()
		w.Write([]byte("ab")) // now the next Read is under way, or about to be
		req.Body.Close()
		if err := <-done; err != io.ErrClosedPipe && err != errLoanClosed {
			t.Errorf("the Read ended with %v", err)
		}
		return nil, e
	})
	if err != error(e) {
		t.Errorf("got %v", err)
	}
}

// TestOneShotAnswered: an answer that is to be retried. The body goes with the next attempt
// only if the one that was answered can't read from it any more.
func TestOneShotAnswered(t *testing.T) {
	p := Policy{RetryStatuses: []int{503}}
	answers := func(n int, closes bool) act {
		return func(req *http.Request) (*http.Response, error) {
			for range n {
				req.Body.Read(make([]byte, 1))
			}
			if closes {
				req.Body.Close()
			}
			return status(503, "Retry-After", "0"), nil
		}
	}
	t.Run("untouched and closed", func(t *testing.T) {
		s := newStream("data")
		if err := play(t, p, "GET", 4, s, answers(0, true), takes(t, "data")); err != nil {
			t.Error(err)
		}
		wantUse(t, s, 1, 1)
	})
	t.Run("touched", func(t *testing.T) {
		s := newStream("data")
		if err := play(t, p, "GET", 4, s, answers(1, true)); err != nil {
			t.Error(err)
		}
		wantUse(t, s, 1, 1)
	})
	t.Run("open", func(t *testing.T) {
		s := newStream("data")
		var rest io.ReadCloser
		if err := play(t, p, "GET", 4, s, func(req *http.Request) (*http.Response, error) {
			rest = req.Body
			return answers(0, false)(req)
		}); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(rest); string(b) != "data" || err != nil {
			t.Errorf("the upload behind the answer got %q, %v", b, err)
		}
		wantUse(t, s, 1, 0)
		rest.Close()
		wantUse(t, s, 1, 1)
	})
	t.Run("rewindable", func(t *testing.T) {
		s := newTape("data")
		if err := play(t, p, "GET", 4, s, answers(2, false), takes(t, "data")); err != nil {
			t.Error(err)
		}
		wantUse(t, s.stream, 1, 1)
	})
}

// TestReleasedWhenBasePanics: the caller's body is closed all the same.
func TestReleasedWhenBasePanics(t *testing.T) {
	for _, body := range []io.ReadCloser{newStream("data"), newTape("data")} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic didn't reach the caller")
				}
			}()
			play(t, Default(), "POST", 4, body, func(*http.Request) (*http.Response, error) { panic("a hook's") })
		}()
		s, ok := body.(*stream)
		if !ok {
			s = body.(*tape).stream
		}
		wantUse(t, s, 0, 1)
	}
}
