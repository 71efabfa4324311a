package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

func wantTimeout(t *testing.T, err error, what string, after time.Duration) {
	t.Helper()
	var limit *wire.TimeoutError
	if !errors.As(err, &limit) || limit.What != what || limit.After != after {
		t.Fatalf("err = %v, want a %s of %v", err, what, after)
	}
	var ne net.Error
	if !errors.As(err, &ne) || !ne.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v doesn't look like a timeout", err)
	}
}

func TestHeaderTimeout(t *testing.T) {
	for _, tt := range cutRequests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{HeaderTimeout: time.Second})
				r.nc.IgnoreDeadlines()
				r.nc.SetBuffer(len(tt.wire) - 1) // one byte has to wait: the limit hasn't begun
				req, b := tt.req(t)
				a := r.start(req)
				time.Sleep(time.Hour)
				r.hears(tt.wire)
				start := time.Now()
				r.says(hint + "HTTP/1.1 200 OK\r\n") // interim answers don't reset it
				err := a.fails()
				elapsed(t, start, time.Second)
				wantTimeout(t, err, wire.WhatHeader, time.Second)
				if !strings.Contains(err.Error(), "timeout awaiting response headers") {
					t.Errorf("text %q", err)
				}
				if f := a.x.Facts(); !f.AllSent || !f.Answered {
					t.Errorf("facts %+v", f)
				}
				if b != nil {
					b.wantClosed()
				}
				r.wantClosed()
			})
		})
	}
}

func TestHeaderTimeoutEndsWithTheHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{HeaderTimeout: time.Second})
		pr, pw := io.Pipe()
		a := r.start(post(t, pr))
		r.hears(postHead)
		r.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
		a.answer(200)
		pw.Close() // the request is sent after the head has come
		time.Sleep(time.Hour)
		r.says("hello")
		a.reads("hello")
		a.wantEnd(wire.EndKept)
	})
}

func TestWriteStall(t *testing.T) {
	for _, tt := range cutRequests {
		for _, took := range []int{0, 10, len(tt.wire) - 1} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{WriteStall: time.Second})
				r.nc.IgnoreDeadlines()
				r.nc.SetBuffer(took)
				req, b := tt.req(t)
				start := time.Now()
				a := r.start(req)
				wantTimeout(t, a.fails(), wire.WhatWriteStall, time.Second)
				elapsed(t, start, time.Second)
				a.wantFacts(wire.Facts{Sent: int64(took), BodyTouched: b != nil && took >= len(postHead)})
				if b != nil {
					b.wantClosed()
				}
				r.wantClosed()
			})
		}
	}
}

// TestSlowWriteIsNoStall: the limit is on each piece, not on the whole.
func TestSlowWriteIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{WriteStall: time.Second})
		r.nc.SetBuffer(stallPiece)
		text := strings.Repeat("x", 50*stallPiece)
		a := r.start(sizedPost(t, int64(len(text)), strings.NewReader(text)))
		head := r.hearsHead()
		for n := 0; n < len(text); {
			time.Sleep(900 * time.Millisecond)
			m, err := io.ReadFull(r.br, make([]byte, min(stallPiece, len(text)-n)))
			if err != nil {
				t.Fatalf("after %d of %d: %v", n, len(text), err)
			}
			n += m
		}
		r.says(ok0)
		a.answer(200)
		a.wantEnd(wire.EndKept)
		if f := a.x.Facts(); f.Sent != int64(len(head)+len(text)) {
			t.Errorf("facts %+v", f)
		}
	})
}

func TestReadStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{ReadStall: time.Second})
		r.nc.IgnoreDeadlines()
		a := r.start(get(t))
		r.hearsHead()
		time.Sleep(time.Hour) // the head isn't under it
		r.says("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n")
		a.answer(200)
		time.Sleep(time.Hour) // nor a caller that takes its time
		p := make([]byte, 50)
		for range 10 {
			time.AfterFunc(900*time.Millisecond, func() { io.WriteString(r.peer, "x") })
			if _, err := a.resp.Body.Read(p); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		_, err := a.resp.Body.Read(p)
		elapsed(t, start, time.Second)
		wantTimeout(t, err, wire.WhatReadStall, time.Second)
		a.wantEnd(wire.EndTimeout)
		if _, again := a.resp.Body.Read(p); again != err {
			t.Errorf("second Read: %v", again)
		}
		r.wantClosed()
	})
}

// TestLateAlarm: a timer's function may run after the alarm was switched off, or set
// anew for the next Read.
func TestLateAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		a := r.start(get(t))
		r.hearsHead()
		r.says(ok5)
		a.answer(200)
		x := &a.x
		x.mu.Lock()
		x.timeoutLocked(&x.alarmsLocked().rstall, time.Second, wire.WhatReadStall)
		x.mu.Unlock()
		time.Sleep(time.Second / 2)
		x.mu.Lock()
		x.timeoutLocked(&x.alarmsLocked().rstall, time.Second, wire.WhatReadStall)
		x.mu.Unlock()
		time.Sleep(time.Second / 2)
		x.ring(&x.alarms.rstall) // the first setting's
		x.mu.Lock()
		x.alarms.rstall.offLocked()
		x.mu.Unlock()
		time.Sleep(time.Second)
		x.ring(&x.alarms.rstall) // the second's
		a.open()
		a.reads("hello")
		a.wantEnd(wire.EndKept)
	})
}
