package h1

import (
	"fmt"
	"io"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

// A journal notes which hooks were called.
type journal struct {
	mu    sync.Mutex
	calls []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, fmt.Sprintf(format, args...))
}

func (j *journal) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		WroteHeaders:         func() { j.add("headers") },
		Wait100Continue:      func() { j.add("wait") },
		Got100Continue:       func() { j.add("continue") },
		GotFirstResponseByte: func() { j.add("first") },
		WroteRequest:         func(i httptrace.WroteRequestInfo) { j.add("wrote %v", i.Err) },
		Got1xxResponse:       func(code int, _ textproto.MIMEHeader) error { j.add("1xx %d", code); return nil },
	}
}

func (j *journal) want(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.calls, want) {
		t.Errorf("hooks %q, want %q", j.calls, want)
	}
	j.calls = nil
}

// wantEither is for hooks of which two are called at the same time.
func (j *journal) wantEither(t *testing.T, one, other []string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.calls, one) && !slices.Equal(j.calls, other) {
		t.Errorf("hooks %q, want %q or %q", j.calls, one, other)
	}
	j.calls = nil
}

func TestHooksInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		r := newRig(t, Options{ContinueTimeout: time.Hour})
		for _, tt := range cutRequests {
			req, _ := tt.req(t)
			a := r.start(traced(req, j.trace()))
			r.hears(tt.wire)
			synctest.Wait()
			j.want(t, "headers", "wrote <nil>")
			r.says(hint + ok5)
			a.answer(200)
			a.reads("hello")
			a.wantEnd(wire.EndKept)
			j.want(t, "first", "1xx 103")
		}
		for name, req := range expecting(t) {
			a := r.start(traced(req, j.trace()))
			r.hearsHead()
			synctest.Wait()
			j.want(t, "headers", "wait")
			r.says("HTTP/1.1 100 Continue\r\n\r\n")
			r.hears(encoded(name))
			synctest.Wait()
			// The body goes out at the peer's consent, while the caller's goroutine calls a hook.
			j.wantEither(t, []string{"first", "continue", "1xx 100", "wrote <nil>"}, []string{"first", "continue", "wrote <nil>", "1xx 100"})
			r.says(ok5)
			a.answer(200)
			a.reads("hello")
			a.wantEnd(wire.EndKept)
			j.want(t)
		}
	})
}

// TestHooksOfFailedWrites: what wasn't accepted wasn't written.
func TestHooksOfFailedWrites(t *testing.T) {
	for _, tt := range cutRequests {
		for _, k := range []int{0, 5, len(tt.wire) - 1} {
			synctest.Test(t, func(t *testing.T) {
				var j journal
				r := newRig(t, Options{})
				r.nc.FailWriteAfter(k, errCut)
				req, b := tt.req(t)
				a := r.start(traced(req, j.trace()))
				err := a.fails()
				if b != nil && k >= len(postHead) {
					j.want(t, "headers", fmt.Sprintf("wrote %v", err))
				} else {
					j.want(t, fmt.Sprintf("wrote %v", err))
				}
			})
		}
	}
}

// TestNoHooksAfterAFailedStart: a body that hangs doesn't call back later.
func TestNoHooksAfterAFailedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		r := newRig(t, Options{})
		b := &stuck{release: make(chan struct{}), closed: make(chan struct{})}
		a := r.start(traced(post(t, b), j.trace()))
		r.hears(postHead)
		synctest.Wait() // the body is in its Read
		r.peer.Close()
		if err := a.fails(); err != io.EOF {
			t.Errorf("err = %v", err)
		}
		j.want(t, "headers")
		close(b.release)
		<-a.x.up.done
		j.want(t)
	})
}

func TestWroteRequestTellsOfTheBodysError(t *testing.T) {
	var j journal
	r := newRig(t, Options{})
	b := &failing{body{t: t, r: strings.NewReader("")}, func() (int, error) { return 0, errOwn }}
	a := r.start(traced(post(t, b), j.trace()))
	err := a.fails()
	j.want(t, "headers", fmt.Sprintf("wrote %v", err))
}
