package h1

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

// An exchange is spent when it has ended well, and nothing it has set going can come back.
func TestSpent(t *testing.T) {
	for name, tt := range map[string]struct {
		opt    Options
		req    func(t *testing.T) wire.Request
		answer string
		unread bool
		want   bool
	}{
		"plain":            {req: get, answer: ok5, want: true},
		"with a context":   {req: cancellable, answer: ok5, want: true},
		"with a limit":     {opt: Options{HeaderTimeout: time.Hour}, req: get, answer: ok5},
		"uploaded":         {req: func(t *testing.T) wire.Request { return post(t, newBody(t, "body")) }, answer: ok5},
		"not kept":         {req: get, answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"},
		"with a decoder":   {req: gzipped, answer: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"},
		"with Cancel":      {req: withCancel, answer: ok5},
		"drained":          {req: get, answer: ok5, unread: true, want: true},
		"without its rest": {unread: true, req: get, answer: "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhello"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.opt)
				a := r.start(tt.req(t))
				r.hearsHead()
				r.says(tt.answer)
				a.answer(200)
				if a.x.Spent() {
					t.Error("spent before its end")
				}
				if !tt.unread {
					io.ReadAll(a.resp.Body)
				}
				a.resp.Body.Close()
				if got := a.x.Spent(); got != tt.want {
					t.Errorf("spent %v, want %v", got, tt.want)
				}
				r.peer.Close()
				synctest.Wait()
			})
		})
	}
}

func cancellable(t *testing.T) wire.Request {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r := get(t)
	r.Request = r.WithContext(ctx)
	return r
}

func gzipped(t *testing.T) wire.Request {
	r := get(t)
	r.Gzip = true
	return r
}

func withCancel(t *testing.T) wire.Request {
	r := get(t)
	r.Cancel = make(chan struct{})
	return r
}

// A context that ends with the exchange may have its hook on the way.
func TestNotSpentWhileAHookRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		x := &Exchange{c: &Conn{}, req: get(t)}
		x.ended, x.why = true, wire.EndKept
		x.watch(ctx)
		cancel()
		x.unwatch()
		if x.Spent() {
			t.Error("spent, though the context's hook has begun")
		}
		synctest.Wait()
	})
}
