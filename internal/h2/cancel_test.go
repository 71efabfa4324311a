package h2

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

func TestCancelAwaitingTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		cause := errors.New("the reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		a := r.start(getCtx(t, ctx))
		r.hearsHeaders(1, true)
		cancel(cause)
		a.failsWith(context.Canceled)
		a.failsWith(cause)
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndCancelled)
		r.ok(1, "late") // ignored
		b := r.start(get(t))
		r.hearsHeaders(3, true)
		r.ok(3, "")
		b.answer(200)
	})
}

func TestCancelChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		req := get(t)
		cancel := make(chan struct{})
		req.Cancel = cancel
		a := r.start(req)
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		a.answer(200)
		close(cancel)
		r.hearsReset(1, http2.ErrCodeCancel)
		if _, err := a.resp.Body.Read(make([]byte, 1)); err != wire.ErrCanceled {
			t.Errorf("Read: %v", err)
		}
	})
}

// A context that has ended sends nothing.
func TestCancelledBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		body := newBody(t, "hello")
		a := r.start(postCtx(t, ctx, body))
		a.failsWith(context.Canceled)
		a.wantFacts(wire.Facts{})
		a.wantEnd(wire.EndCancelled)
		body.wantClosed()
		r.hearsNothing()
	})
}

// A deadline ends a Read that waits, at once, and frees the stream though nobody calls Close.
func TestDeadlineWhileReading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		a := r.start(getCtx(t, ctx))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		r.fr.WriteData(1, false, []byte("one"))
		a.answer(200)
		got, err := io.ReadAll(a.resp.Body)
		if string(got) != "one" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read %q, %v", got, err)
		}
		elapsed(t, start, time.Second)
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndCancelled)
		if _, err2 := a.resp.Body.Read(make([]byte, 1)); err2 != err {
			t.Errorf("then %v", err2)
		}
		a.resp.Body.Close()
		if _, err := a.resp.Body.Read(make([]byte, 1)); err == nil {
			t.Error("Read after Close succeeds")
		}
		r.hearsNothing()
	})
}

// A body that nobody reads is freed by its context alone.
func TestAbandonedBody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		a := r.start(getCtx(t, ctx))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		a.answer(200)
		a.open()
		cancel()
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndCancelled)
	})
}

// The peer's concurrency is free only when the RST_STREAM is out.
func TestSlotIsFreeWhenTheResetIsOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		a := r.start(getCtx(t, ctx))
		r.hearsHeaders(1, true)
		r.nc.SetBuffer(0)
		cancel()
		a.failsWith(context.Canceled)
		a.open()
		if n := r.c.State().Streams; n != 1 {
			t.Errorf("%d streams, want the one whose reset isn't out", n)
		}
		r.nc.SetBuffer(1 << 20)
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndCancelled)
		if n := r.c.State().Streams; n != 0 {
			t.Errorf("%d streams", n)
		}
	})
}

// With a socket that takes nothing, no call of this side waits.
func TestNothingWaitsForAStalledWrite(t *testing.T) {
	for name, do := range map[string]func(r *rig, a *attempt, cancel func()){
		"cancel": func(r *rig, a *attempt, cancel func()) { cancel(); <-a.ret },
		"kill":   func(r *rig, a *attempt, cancel func()) { r.c.Kill(errTest); <-a.ret },
		"ping":   func(r *rig, a *attempt, cancel func()) { r.c.Ping(); cancel(); <-a.ret },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				r.nc.SetBuffer(0)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := r.start(getCtx(t, ctx))
				synctest.Wait()
				start := time.Now()
				do(r, a, cancel)
				elapsed(t, start, 0)
			})
		})
	}
}

func TestCloseOfAStalledConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.nc.SetBuffer(0)
		a := r.start(get(t))
		synctest.Wait()
		start := time.Now()
		r.c.Close()
		a.fails()
		elapsed(t, start, farewellTime)
		<-r.ended
	})
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.nc.SetBuffer(0)
		start := time.Now()
		r.c.Close() // tries to say so
		elapsed(t, start, farewellTime)
		<-r.ended
	})
}

func TestCloseSaysGoAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.c.Close()
		r.c.Close()
		r.hearsGoAway(http2.ErrCodeNo)
		r.hearsEnd()
		<-r.ended
		if len(r.ends) != 1 || !errors.Is(r.ends[0], errClosed) {
			t.Errorf("ended %v", r.ends)
		}
		a := r.start(get(t))
		a.failsWith(errClosed)
		a.wantFacts(wire.Facts{})
		a.wantEnd(wire.EndError)
	})
}

func TestWriteStall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{WriteStall: time.Second})
		r.nc.SetBuffer(0)
		start := time.Now()
		a := r.start(get(t))
		var to *wire.TimeoutError
		if err := a.fails(); !errors.As(err, &to) || to.What != wire.WhatWriteStall {
			t.Errorf("failed with %v", err)
		}
		elapsed(t, start, time.Second)
		a.wantFacts(wire.Facts{})
	})
}

func TestHeaderTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{HeaderTimeout: time.Second})
		pr, pw := io.Pipe()
		a := r.start(post(t, pr))
		r.hearsHeaders(1, false)
		time.Sleep(time.Minute) // the body isn't the peer's fault
		start := time.Now()
		pw.Close()
		var to *wire.TimeoutError
		if err := a.fails(); !errors.As(err, &to) || to.What != wire.WhatHeader {
			t.Errorf("failed with %v", err)
		}
		elapsed(t, start, time.Second)
		r.hearsData(1, "", true)
		r.hearsPing()
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndTimeout)
	})
}

func TestReadStall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{ReadStall: time.Second})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		a.answer(200)
		go func() {
			time.Sleep(900 * time.Millisecond)
			r.fr.WriteData(1, false, []byte("x"))
		}()
		start := time.Now()
		_, err := io.ReadAll(a.resp.Body)
		var to *wire.TimeoutError
		if !errors.As(err, &to) || to.What != wire.WhatReadStall {
			t.Errorf("failed with %v", err)
		}
		elapsed(t, start, 1900*time.Millisecond)
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndTimeout)
	})
}

func TestSettingsTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		r := newRig(t, Options{})
		a := r.start(get(t))
		var to *wire.TimeoutError
		if err := a.fails(); !errors.As(err, &to) || to.What != wire.WhatSettings {
			t.Errorf("failed with %v", err)
		}
		elapsed(t, start, settingsTimeout)
	})
}
