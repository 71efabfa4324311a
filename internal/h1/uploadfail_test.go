package h1

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

func TestWrongLengths(t *testing.T) {
	for _, tt := range []struct {
		name  string
		want  int64
		p     []string
		text  string
		heard string // the most that the peer may hear of the body
	}{
		{"short", 10, []string{"hello"}, "http: ContentLength=10 with Body length 5", "hello"},
		{"empty", 10, nil, "http: ContentLength=10 with Body length 0", ""},
		{"long in one piece", 4, []string{"abcdGET / HTTP/1.1\r\n\r\n"}, "http: ContentLength=4 with Body length 22", ""},
		{"long in the second", 4, []string{"abc", "defgh"}, "http: ContentLength=4 with Body length 8", "abc"},
		{"long at the edge", 4, []string{"abcd", "e"}, "http: ContentLength=4 with Body length 5", "abcd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{})
			b := newBody(t, "")
			b.r = &pieces{p: tt.p}
			a := r.start(sizedPost(t, tt.want, b))
			r.hearsHead()
			err := a.fails()
			var bad *wire.BodyError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("err = %v, want %q", err, tt.text)
			}
			r.wantClosed()
			b.wantClosed()
			if got, _ := io.ReadAll(r.br); !strings.HasPrefix(tt.heard, string(got)) {
				t.Errorf("the peer heard %q", got)
			}
		})
	}
}

var errOwn = errors.New("the caller's own error")

// failing fails in its Read, in one of several ways.
type failing struct {
	body
	how func() (int, error)
}

func (f *failing) Read(p []byte) (int, error) {
	if n, err := f.body.Read(p); err != io.EOF {
		return n, err
	}
	return f.how()
}

func TestBodyThatFails(t *testing.T) {
	for name, how := range map[string]func() (int, error){
		"error":             func() (int, error) { return 0, errOwn },
		"panic":             func() (int, error) { panic(errOwn) },
		"panic with a text": func() (int, error) { panic("boom") },
		"Goexit":            func() (int, error) { runtime.Goexit(); return 0, nil },
		"count too large":   func() (int, error) { return 1 << 20, nil },
		"count below zero":  func() (int, error) { return -1, nil },
	} {
		for _, sent := range []string{"", "0123456789"} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, Options{})
				b := &failing{body{t: t, r: strings.NewReader(sent)}, how}
				a := r.start(post(t, b))
				r.hears(postHead)
				err := a.fails()
				var bad *wire.BodyError
				if !errors.As(err, &bad) {
					t.Errorf("err = %v, want a wire.BodyError", err)
				}
				if (name == "error" || name == "panic") && !errors.Is(err, errOwn) {
					t.Errorf("err = %v doesn't wrap the caller's", err)
				}
				b.wantClosed()
				r.wantClosed()
				if got, _ := io.ReadAll(r.br); strings.Contains(string(got), "0\r\n\r\n") {
					t.Errorf("the peer heard a whole body: %q", got)
				}
				if f := a.x.Facts(); f.AllSent || !f.BodyTouched || f.BodyBusy {
					t.Errorf("facts %+v", f)
				}
			})
		}
	}
}

func TestBodyWhoseCloseFails(t *testing.T) {
	r := newRig(t, Options{})
	b := newBody(t, "abc")
	b.after = errOwn
	a := r.start(post(t, b))
	r.hears(postHead + chunkOf("abc"))
	a.failsWith(errOwn)
	r.hearsEnd() // no last chunk: the peer must not take it for complete
	b.wantClosed()
}
