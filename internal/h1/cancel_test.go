package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

// cancels are the ways to cancel a request, and the error that each gives.
var cancels = map[string]func(req wire.Request) (wire.Request, func(), error){
	"context": func(req wire.Request) (wire.Request, func(), error) {
		ctx, cancel := context.WithCancelCause(req.Context())
		req.Request = req.WithContext(ctx)
		return req, func() { cancel(errOwn) }, errOwn
	},
	"Cancel": func(req wire.Request) (wire.Request, func(), error) {
		c := make(chan struct{})
		req.Request.Cancel = c //lint:ignore SA1019 http.Client.Timeout sets it
		return req, func() { close(c) }, wire.ErrCanceled
	},
}

func eachCancel(t *testing.T, f func(t *testing.T, with func(wire.Request) (wire.Request, func(), error))) {
	for name, with := range cancels {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, with) })
		})
	}
}

func TestCancelBeforeTheHead(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		for _, answer := range []string{"", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-"} {
			r := newRig(t, Options{})
			r.nc.IgnoreDeadlines()
			req, cancel, cause := with(get(t))
			a := r.start(req)
			r.hearsHead()
			r.says(answer)
			synctest.Wait()
			start := time.Now()
			cancel()
			if err := a.fails(); !errors.Is(err, cause) {
				t.Errorf("err = %v, want %v", err, cause)
			}
			elapsed(t, start, 0)
			a.wantFacts(wire.Facts{Sent: int64(len(getHead)), AllSent: true, Answered: answer != ""})
			r.wantClosed()
		}
	})
}

func TestCancelDuringTheHeadsWrite(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		for _, took := range []int{0, 10} {
			r := newRig(t, Options{})
			r.nc.SetBuffer(took)
			b := newBody(t, "abc")
			req, cancel, cause := with(post(t, b))
			a := r.start(req)
			synctest.Wait()
			cancel()
			a.failsWith(cause)
			a.wantFacts(wire.Facts{Sent: int64(took)})
			if b.reads > 0 {
				t.Error("the body was read")
			}
			b.wantClosed()
		}
	})
}

func TestCancelDuringAProbe(t *testing.T) {
	eachCancel(t, func(t *testing.T, with func(wire.Request) (wire.Request, func(), error)) {
		r := newRig(t, Options{})
		pr, pw := io.Pipe()
		defer pw.Close()
		req, cancel, cause := with(wire.Request{Request: request(t, "GET", pr)})
		a := r.start(req)
		synctest.Wait()
		start := time.Now()
		cancel()
		a.failsWith(cause)
		elapsed(t, start, haltGrace)
		a.wantFacts(wire.Facts{BodyTouched: true})
	})
}

func TestCancelBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := newBody(t, "abc")
		req, cancel, cause := cancels["context"](post(t, b))
		cancel()
		a := r.start(req)
		a.failsWith(cause)
		a.wantFacts(wire.Facts{})
		b.wantClosed()
		r.hearsEnd()
	})
}

// TestEnded: a cause doesn't hide that it was the context, nor what kind of end.
func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		if err := wire.Ended(ctx); err != nil {
			t.Errorf("Ended = %v before the end", err)
		}
		cancel(errOwn)
		if err := wire.Ended(ctx); !errors.Is(err, errOwn) || !errors.Is(err, context.Canceled) || err.Error() != errOwn.Error() {
			t.Errorf("Ended = %v", err)
		}
		ctx, stop := context.WithDeadlineCause(t.Context(), time.Now().Add(time.Second), errOwn)
		defer stop()
		<-ctx.Done()
		err := wire.Ended(ctx)
		var timeout net.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("Ended = %v", err)
		}
		ctx, stop = context.WithCancel(t.Context())
		stop()
		if err := wire.Ended(ctx); err != context.Canceled {
			t.Errorf("Ended = %v without a cause", err)
		}
	})
}

func TestDeadlineIsACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := r.start(wire.Request{Request: request(t, "GET", nil).WithContext(ctx)})
		start := time.Now()
		a.failsWith(context.DeadlineExceeded)
		elapsed(t, start, time.Second)
	})
}

// TestClientTimeout: http.Client closes Request.Cancel for round trippers that aren't
// its own, besides the context's deadline.
func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		client := &http.Client{Timeout: time.Second, Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			a := r.start(wire.Request{Request: req})
			<-a.ret
			return a.resp, a.err
		})}
		_, err := client.Get("http://example.com/")
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("err = %v", err)
		}
		r.wantClosed()
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
