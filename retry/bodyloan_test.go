package retry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// An act is what a Base does with one attempt.
type act func(*http.Request) (*http.Response, error)

// acts is a Base that makes its nth attempt by its nth act.
type acts struct {
	t    *testing.T
	acts []act
	made int
}

func (a *acts) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.made++; a.made > len(a.acts) {
		a.t.Errorf("attempt %d was made, only %d are right", a.made, len(a.acts))
		return nil, errors.New("too many attempts")
	}
	return a.acts[a.made-1](req)
}

// leaves closes the body without having read from it.
func leaves(err error) act {
	return func(req *http.Request) (*http.Response, error) {
		req.Body.Close()
		return nil, err
	}
}

// reads makes so many Reads of the body, with room for a byte each, and closes it.
func reads(n int, err error) act {
	return func(req *http.Request) (*http.Response, error) {
		for range n {
			req.Body.Read(make([]byte, 1))
		}
		req.Body.Close()
		return nil, err
	}
}

// takes reads the body to its end, which has to be want, and answers.
func takes(t *testing.T, want string) act {
	return func(req *http.Request) (*http.Response, error) {
		got, err := io.ReadAll(req.Body)
		if string(got) != want || err != nil {
			t.Errorf("the attempt read %q, %v; want %q", got, err, want)
		}
		if err := req.Body.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		return status(200), nil
	}
}

// play sends a request with body through acts, and returns the error.
func play(t *testing.T, p Policy, method string, length int64, body io.ReadCloser, list ...act) error {
	t.Helper()
	req := newRequest(t, method, nil)
	req.Body, req.ContentLength = body, length
	base := &acts{t: t, acts: list}
	_, err := (&Transport{Base: base, Policy: atOnce(p)}).RoundTrip(req)
	if base.made != len(list) {
		t.Errorf("%d attempts were made, want %d", base.made, len(list))
	}
	if req.Body != body || req.GetBody != nil || req.ContentLength != length {
		t.Error("the caller's request was changed")
	}
	return err
}

// A shy stream's Reads return nothing at first.
type shy struct {
	*stream
	first []error
}

func (s *shy) Read(p []byte) (int, error) {
	if len(s.first) == 0 {
		return s.stream.Read(p)
	}
	err := s.first[0]
	s.first = s.first[1:]
	return 0, err
}

// TestOneShotTouched: what a Read must have done for the body to count as touched.
func TestOneShotTouched(t *testing.T) {
	refused := failed(pool.PhaseRefused)
	broken := errors.New("disk is gone")
	for _, tt := range []struct {
		name   string
		first  []error // of Reads that give no byte
		text   string
		length int64
		reads  int // by the first attempt
		again  bool
	}{
		{"no Read", nil, "data", 4, 0, true},
		{"a Read that gave nothing", []error{nil}, "data", 4, 1, true},
		{"two of them", []error{nil, nil}, "data", -1, 2, true},
		{"nothing, then a byte", []error{nil}, "data", 4, 2, false},
		{"a byte", nil, "data", 4, 1, false},
		{"all", nil, "data", -1, 5, false},
		{"an error", []error{broken}, "data", 4, 1, false},
		{"an empty body of unknown length", nil, "", -1, 1, true},
		{"the same with the length 0", nil, "", 0, 3, true},
		{"nothing, then its end", []error{nil}, "", -1, 2, true},
		{"an empty body that said 4 bytes", nil, "", 4, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &shy{newStream(tt.text), tt.first}
			list := []act{reads(tt.reads, refused)}
			if tt.again {
				list = append(list, leaves(refused), takes(t, tt.text))
			}
			if err := play(t, Default(), "POST", tt.length, s, list...); (err == nil) != tt.again {
				t.Errorf("got %v", err)
			}
			if _, closes := s.used(); closes != 1 {
				t.Errorf("the body was closed %d times, want once", closes)
			}
		})
	}
}

// TestOneShotReadPanics: a Read that didn't return has touched the body.
func TestOneShotReadPanics(t *testing.T) {
	s := &stuckStream{stream: newStream("data"), read: func() { panic("disk is gone") }}
	err := play(t, Default(), "POST", 4, s, func(req *http.Request) (*http.Response, error) {
		defer req.Body.Close()
		func() {
			defer func() { recover() }()
			req.Body.Read(make([]byte, 1))
		}()
		return nil, failed(pool.PhaseUnsent)
	})
	if _, ok := errors.AsType[*pool.Error](err); !ok {
		t.Errorf("got %v, want the attempt's error", err)
	}
	wantUse(t, s.stream, 0, 1)
}

// A stuckStream calls read first in each Read.
type stuckStream struct {
	*stream
	read func()
}

func (s *stuckStream) Read(p []byte) (int, error) { s.read(); return s.stream.Read(p) }

// TestI7_OneShotReadUnderWay: a Read that is under way when the attempt has failed counts; there
// is no wait for it.
func TestI7_OneShotReadUnderWay(t *testing.T) {
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := &stuckStream{stream: newStream("data"), read: func() { close(entered); <-leave }}
	e := failed(pool.PhaseRefused)
	err := play(t, Default(), "POST", 4, s, func(req *http.Request) (*http.Response, error) {
		go func() {
			defer close(done)
			req.Body.Read(make([]byte, 1))
		}()
		<-entered
		return nil, e
	})
	if err != error(e) {
		t.Errorf("got %v, want the attempt's error as it is", err)
	}
	close(leave)
	<-done
}

// TestI7_OneShotLateRead: an attempt that has failed can't begin to read, while it waits
// neither, so that the next one has all of the body.
func TestI7_OneShotLateRead(t *testing.T) {
	s := newStream("data")
	var first io.ReadCloser
	p := Default()
	late := func(int) (int, error) { return first.Read(make([]byte, 1)) }
	p.Jitter = func() float64 { // called before the wait
		if n, err := late(0); n != 0 || err == nil {
			t.Errorf("the failed attempt read on: %d, %v", n, err)
		}
		return 0
	}
	req := newRequest(t, "POST", s)
	base := &acts{t: t, acts: []act{
		func(req *http.Request) (*http.Response, error) { first = req.Body; return nil, failed(pool.PhaseDial) },
		takes(t, "data"),
	}}
	p.Interval, p.Spread = 1, 0.5
	if _, err := (&Transport{Base: base, Policy: p}).RoundTrip(req); err != nil {
		t.Error(err)
	}
	first.Close()
	wantUse(t, s, 1, 1)
}

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
