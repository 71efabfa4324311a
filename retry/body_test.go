package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A stream is a body that can't be had again. It counts what is done with it.
type stream struct {
	r      io.Reader
	mu     sync.Mutex
	reads  int
	closes int
}

func newStream(s string) *stream { return &stream{r: strings.NewReader(s)} }

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.closes > 0 {
		return 0, errors.New("read after Close")
	}
	return s.r.Read(p)
}

func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closes++
	return nil
}

func (s *stream) used() (reads, closes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads, s.closes
}

// A tape is a stream that can be rewound, and may fail to be.
type tape struct {
	*stream
	seekErr error // of a rewind
}

func newTape(s string) *tape { return &tape{stream: newStream(s)} }

func (s *tape) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart && s.seekErr != nil {
		return 0, s.seekErr
	}
	return s.r.(io.Seeker).Seek(offset, whence)
}

func wantUse(t *testing.T, s *stream, reads, closes int) {
	t.Helper()
	if r, c := s.used(); reads == 0 && r != 0 || reads != 0 && r == 0 || c != closes {
		t.Errorf("the body was read %d times and closed %d times; want %d (or more than none) and %d", r, c, reads, closes)
	}
}

// TestA6_OneShotBody: a body that can't be rewound goes with the next attempt as long as it is
// untouched, if the policy doesn't leave such bodies alone, and isn't repeated after that, whatever
// the method.
func TestA6_OneShotBody(t *testing.T) {
	for name, p := range map[string]Policy{
		"default": Default(), "never-timeouts": NeverTimeouts(), "once": Once(), "safe-only": SafeOnly(), "off": Off(),
	} {
		for _, phase := range []pool.Phase{pool.PhaseDial, pool.PhaseUnsent, pool.PhaseRefused, pool.PhaseSent} {
			for _, method := range []string{"GET", "POST"} {
				e := failed(phase)
				s, attempts := newStream("data"), 1
				ends := []any{e}
				if phase.Unprocessed() && p.Decide(Outcome{Method: method, Phase: phase, BodyReplayable: true}).Retry && !p.LeaveOneShot {
					ends, attempts = append(ends, status(200)), 2
				}
				base := newScript(t, ends...)
				req := newRequest(t, method, s)
				_, err := (&Transport{Base: base, Policy: atOnce(p)}).RoundTrip(req)
				if attempts == 1 && err != error(e) || attempts == 2 && err != nil {
					t.Errorf("%s, %s in %v: got %v", name, method, phase, err)
				}
				base.wantAttempts(attempts)
				if last := base.sent[len(base.sent)-1].body; attempts == 2 && last != "data" {
					t.Errorf("%s, %s in %v: the last attempt sent %q", name, method, phase, last)
				}
				reads := 1
				if attempts == 1 && phase.Unprocessed() {
					reads = 0
				}
				wantUse(t, s, reads, 1)
				if req.Body != io.ReadCloser(s) || req.GetBody != nil {
					t.Error("the caller's request was changed")
				}
			}
		}
	}
}

// TestA6_Rewound: each attempt has the whole body, from where it stood, and the body is
// closed once, at the end.
func TestA6_Rewound(t *testing.T) {
	dial, sent := failed(pool.PhaseDial), failed(pool.PhaseSent)
	tests := []struct {
		name   string
		method string
		ends   []any
	}{
		{"refused three times", "POST", []any{dial, dial, dial}},
		{"refused, then sent", "POST", []any{dial, status(200)}},
		{"sent, then failed", "POST", []any{sent}},
		{"repeated after being read", "GET", []any{sent, sent, status(200)}},
		{"at once", "POST", []any{status(200)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTape("header:data")
			if _, err := io.ReadFull(s, make([]byte, len("header:"))); err != nil {
				t.Fatal(err)
			}
			base := newScript(t, tt.ends...)
			req := newRequest(t, tt.method, s)
			resp, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req)
			last := tt.ends[len(tt.ends)-1]
			if _, failed := last.(error); failed != (err != nil) || err == nil && !answers(resp, req) {
				t.Errorf("got %v, %v; want %v for the caller's request", resp, err, last)
			}
			base.wantAttempts(len(tt.ends))
			for i, a := range base.sent {
				if e, ok := tt.ends[i].(*pool.Error); (!ok || !e.Phase.Unprocessed()) && a.body != "data" {
					t.Errorf("attempt %d sent %q, want all of it", i+1, a.body)
				}
			}
			wantUse(t, s.stream, 1, 1)
			if req.Body != io.ReadCloser(s) || req.GetBody != nil {
				t.Error("the caller's request was changed")
			}
		})
	}
}

// TestOffLeavesTheBodyAlone: where there is one attempt at most, nothing is lent.
func TestOffLeavesTheBodyAlone(t *testing.T) {
	for _, tt := range []struct {
		body io.Reader
		p    Policy
	}{{newTape("data"), Off()}, {newStream("data"), Off()}, {newStream("data"), Policy{LeaveOneShot: true}}} {
		base := newScript(t, failed(pool.PhaseDial))
		req := newRequest(t, "POST", tt.body)
		(&Transport{Base: base, Policy: tt.p}).RoundTrip(req)
		if base.sent[0].req != req {
			t.Errorf("%T: the attempt is not the caller's request", tt.body)
		}
	}
}

// TestA6_File: the usual upload, an open file.
func TestA6_File(t *testing.T) {
	name := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(name, []byte("file's content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	base := newScript(t, failed(pool.PhaseSent), status(200))
	req := newRequest(t, "PUT", f)
	req = req.WithContext(WithIdempotent(req.Context()))
	if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	for i, a := range base.sent {
		if a.body != "file's content" {
			t.Errorf("attempt %d sent %q", i+1, a.body)
		}
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file was left open (Close now gives %v)", err)
	}
}

// TestA6_Pipe: an *os.File is an io.Seeker, but that of a pipe can't be rewound. It is a one-shot
// body like any other.
func TestA6_Pipe(t *testing.T) {
	for _, tt := range []struct {
		p        Policy
		first    pool.Phase
		attempts int
	}{
		{Default(), pool.PhaseDial, 2},
		{Default(), pool.PhaseSent, 1},
		{NeverTimeouts(), pool.PhaseDial, 1},
		{NeverTimeouts(), pool.PhaseSent, 1},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, "data")
		w.Close()
		e := failed(tt.first)
		base := newScript(t, []any{e, status(200)}[:tt.attempts]...)
		_, err = (&Transport{Base: base, Policy: atOnce(tt.p)}).RoundTrip(newRequest(t, "GET", r))
		if tt.attempts == 1 && err != error(e) || tt.attempts == 2 && err != nil {
			t.Errorf("%v: got %v", tt.first, err)
		}
		base.wantAttempts(tt.attempts)
		if last := base.sent[len(base.sent)-1].body; tt.attempts == 2 && last != "data" {
			t.Errorf("the last attempt sent %q", last)
		}
		if err := r.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%v: the pipe was left open (Close now gives %v)", tt.first, err)
		}
	}
}

// TestBodyCanNotBeHad: the error tells both what GetBody or Seek returned and how the
// attempt before had failed; no attempt is made, and the body is closed once.
func TestBodyCanNotBeHad(t *testing.T) {
	broken := errors.New("disk is gone")
	check := func(t *testing.T, e *pool.Error, req *http.Request) {
		var r Report
		base := newScript(t, e)
		req = req.WithContext(WithReport(req.Context(), &r))
		_, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req)
		base.wantAttempts(1)
		p, _ := errors.AsType[*pool.Error](err)
		c, _ := errors.AsType[*pool.CallerError](err)
		if !errors.Is(err, broken) || p != e || c == nil || c.Source != pool.CallerBody {
			t.Errorf("got %v; want both causes to be found", err)
		}
		if r.Retries != 0 {
			t.Errorf("%d retries reported, none was made", r.Retries)
		}
	}
	t.Run("GetBody", func(t *testing.T) {
		s := newStream("data")
		req := newRequest(t, "POST", s)
		req.GetBody = func() (io.ReadCloser, error) { return nil, broken }
		check(t, failed(pool.PhaseDial), req)
		wantUse(t, s, 0, 1)
	})
	t.Run("Seek", func(t *testing.T) {
		s := newTape("data")
		s.seekErr = broken
		check(t, failed(pool.PhaseSent), newRequest(t, "GET", s))
		wantUse(t, s.stream, 1, 1)
	})
}

// TestGetBodyIsAskedLate: a copy is had for each later attempt, none for nothing, and
// each is closed by the attempt that got it.
func TestGetBodyIsAskedLate(t *testing.T) {
	var copies []*stream
	first := newStream("data")
	req := newRequest(t, "POST", first)
	req.GetBody = func() (io.ReadCloser, error) {
		copies = append(copies, newStream("data"))
		return copies[len(copies)-1], nil
	}
	dial := failed(pool.PhaseDial)
	base := newScript(t, dial, dial, status(200))
	if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	if len(copies) != 2 {
		t.Fatalf("GetBody was called %d times, want 2", len(copies))
	}
	wantUse(t, first, 0, 1)
	wantUse(t, copies[0], 0, 1)
	wantUse(t, copies[1], 1, 1)
	if base.sent[2].body != "data" {
		t.Errorf("the last attempt sent %q", base.sent[2].body)
	}
}

// TestNoBody: what isn't there is always replayable.
func TestNoBody(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		req := newRequest(t, "POST", nil)
		req.Body = body
		base := newScript(t, failed(pool.PhaseDial), status(200))
		if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req); err != nil {
			t.Error(err)
		}
		if base.sent[1].req.Body != body {
			t.Errorf("the retry has the body %v, want %v", base.sent[1].req.Body, body)
		}
	}
}

// A lateReader is a Base that returns while it still has the body, as a RoundTripper may.
type lateReader struct {
	ends   []error
	bodies []io.ReadCloser
}

func (l *lateReader) RoundTrip(req *http.Request) (*http.Response, error) {
	l.bodies = append(l.bodies, req.Body)
	if err := l.ends[len(l.bodies)-1]; err != nil {
		return nil, err
	}
	return status(200), nil
}

// TestI7_LateReader: attempt 2 starts only when attempt 1 has stopped reading, an upload
// goes on after the answer, and the body is closed once.
func TestI7_LateReader(t *testing.T) {
	s := newTape("data")
	base := &lateReader{ends: []error{failed(pool.PhaseSent), nil}}
	if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "GET", s)); err != nil {
		t.Fatal(err)
	}
	if n, err := base.bodies[0].Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the first attempt read on: %d, %v", n, err)
	}
	wantUse(t, s.stream, 0, 0)
	if b, err := io.ReadAll(base.bodies[1]); string(b) != "data" || err != nil {
		t.Errorf("the upload behind the answer got %q, %v", b, err)
	}
	for range 2 {
		for _, b := range base.bodies {
			b.Close()
		}
	}
	wantUse(t, s.stream, 1, 1)
}

// TestI7_AfterAnError: nobody reads the body after RoundTrip's error, and it's closed.
func TestI7_AfterAnError(t *testing.T) {
	s := newTape("data")
	e := failed(pool.PhaseSent)
	base := &lateReader{ends: []error{e}}
	if _, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "POST", s)); err != error(e) {
		t.Fatalf("got %v, want %v", err, e)
	}
	wantUse(t, s.stream, 0, 1)
	if n, err := base.bodies[0].Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the attempt read on: %d, %v", n, err)
	}
}

// A stuck body's Read blocks until it is let go.
type stuck struct {
	*tape
	entered, leave, closed chan struct{}
}

func (s *stuck) Close() error {
	defer close(s.closed)
	return s.tape.Close()
}

func (s *stuck) Read(p []byte) (int, error) {
	close(s.entered)
	<-s.leave
	return 0, io.EOF
}

type stuckReader struct {
	body *stuck
	done chan struct{}
}

func (b stuckReader) RoundTrip(req *http.Request) (*http.Response, error) {
	go func() {
		defer close(b.done)
		req.Body.Read(make([]byte, 1))
	}()
	<-b.body.entered
	return nil, failed(pool.PhaseSent)
}

// TestI7_ReadUnderWay: a body that is being read is not rewound, and the wait for it ends
// with the context.
func TestI7_ReadUnderWay(t *testing.T) {
	s := &stuck{newTape("data"), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	base := stuckReader{s, make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(newRequest(t, "GET", s).WithContext(ctx))
	stopped, ok := errors.AsType[*StoppedError](err)
	if !ok || !errors.Is(err, context.DeadlineExceeded) || !stopped.Timeout() {
		t.Errorf("got %v, want a StoppedError with the context's", err)
	}
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Phase != pool.PhaseSent {
		t.Errorf("got %v; want to find the attempt's error", err)
	}
	<-s.closed // without a wait for the Read
	wantUse(t, s.stream, 0, 1)
	close(s.leave)
	<-base.done
}
