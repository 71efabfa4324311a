package retry

import (
	"errors"
	"io"
	"net/http"
	"testing"

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
