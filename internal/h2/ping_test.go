package h2

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

func TestPing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.c.Ping()
		data := r.hearsPing()
		time.Sleep(PingGap)
		r.c.Ping() // one is out
		r.hearsNothing()
		time.Sleep(7 * time.Millisecond)
		r.fr.WritePing(true, [8]byte{9}) // not this one
		r.fr.WritePing(true, data)
		synctest.Wait()
		if st := r.c.State(); st.PingRTT != PingGap+7*time.Millisecond || st.PingsSent != 1 {
			t.Errorf("state %+v", st)
		}
		time.Sleep(time.Hour)
		if len(r.ends) > 0 {
			t.Errorf("ended with %v", r.ends)
		}
	})
}

// Servers take PINGs for an attack if they come too often.
func TestPingsHeedTheServersRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		var at []time.Duration
		start := time.Now()
		for time.Since(start) < 12*time.Minute {
			r.c.Ping()
			synctest.Wait()
			if r.peer.Unread() > 0 {
				at = append(at, time.Since(start))
				r.fr.WritePing(true, r.hearsPing())
			}
			time.Sleep(50 * time.Millisecond)
		}
		want := []time.Duration{0, PingGap, PingGap + unpaidGap, PingGap + 2*unpaidGap}
		if !slices.Equal(at, want) {
			t.Errorf("PINGs at %v, want %v", at, want)
		}
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.ok(1, "") // pays
		a.answer(200)
		time.Sleep(PingGap)
		r.c.Ping()
		r.hearsPing()
	})
}

// While streams are open, silence makes for PINGs; without any, nothing does.
func TestPingAfterSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{PingAfter: 10 * time.Second})
		time.Sleep(time.Hour)
		r.hearsNothing()
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		start := time.Now()
		r.says(1, false, ":status", "200")
		a.answer(200)
		for range 9 {
			time.Sleep(9 * time.Second)
			r.fr.WriteData(1, false, []byte("x"))
		}
		r.hearsNothing()
		data := r.hearsPing()
		elapsed(t, start, 91*time.Second)
		r.fr.WritePing(true, data)
		r.fr.WriteData(1, true, nil)
		a.reads("xxxxxxxxx")
		time.Sleep(time.Hour)
		r.hearsNothing()
	})
}

// No answer to a PING: the connection is over, and its streams may have been processed.
func TestPingIsntAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{PingAfter: 10 * time.Second, PingTimeout: 3 * time.Second})
		start := time.Now()
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.hearsPing()
		var to *wire.TimeoutError
		if err := a.fails(); !errors.As(err, &to) || to.What != wire.WhatPing || !to.Timeout() {
			t.Errorf("failed with %v", err)
		}
		elapsed(t, start, 13*time.Second)
		if f := a.x.Facts(); f.Refused || !f.AllSent || f.Sent == 0 {
			t.Errorf("facts %+v", f)
		}
		<-r.ended
	})
}

// An answer may be behind much else: as long as frames come, it's waited for.
func TestPingsAnswerIsBehindData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{PingAfter: 10 * time.Second, PingTimeout: 3 * time.Second})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		a.answer(200)
		data := r.hearsPing()
		for range 10 {
			time.Sleep(2 * time.Second)
			r.fr.WriteData(1, false, []byte("x"))
		}
		r.fr.WritePing(true, data)
		synctest.Wait()
		if st := r.c.State(); st.PingRTT != 20*time.Second {
			t.Errorf("state %+v", st)
		}
	})
}

// A stream that times out with nothing read since makes the connection suspect, until a frame
// comes.
func TestSuspect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{HeaderTimeout: time.Second})
		time.Sleep(time.Second)
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		a.fails()
		data := r.hearsPing()
		r.hearsReset(1, http2.ErrCodeCancel)
		synctest.Wait()
		if !slices.Equal(r.doubts, []bool{true}) || !r.c.State().Suspect {
			t.Errorf("doubts %v", r.doubts)
		}
		r.fr.WritePing(true, data)
		synctest.Wait()
		if !slices.Equal(r.doubts, []bool{true, false}) || r.c.State().Suspect {
			t.Errorf("doubts %v", r.doubts)
		}
		b := r.start(get(t))
		r.hearsHeaders(3, true)
		time.Sleep(time.Millisecond)
		r.fr.WriteSettings() // the peer is there, if slow
		r.hearsSettingsAck()
		b.fails()
		r.hearsReset(3, http2.ErrCodeCancel)
		synctest.Wait()
		if len(r.doubts) != 2 {
			t.Errorf("doubts %v", r.doubts)
		}
	})
}

// A caller who gives up says nothing of the peer.
func TestPlainCancelIsNoReasonForDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		for i := range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			a := r.start(getCtx(t, ctx))
			r.hearsHeaders(uint32(1+2*i), true)
			time.Sleep(time.Second)
			cancel()
			a.fails()
			r.hearsReset(uint32(1+2*i), http2.ErrCodeCancel)
		}
		if len(r.doubts)+len(r.aways) > 0 {
			t.Errorf("doubts %v, aways %v", r.doubts, r.aways)
		}
	})
}

// What answers PINGs may not be who ought to answer requests.
func TestTimeoutsInARowRetireTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{HeaderTimeout: time.Second})
		go func() { // a box on the way
			for {
				f, err := r.fr.ReadFrame()
				if err != nil {
					return
				}
				if p, ok := f.(*http2.PingFrame); ok && !p.IsAck() {
					r.fr.WritePing(true, p.Data)
				}
			}
		}()
		for i := range maxMissing {
			synctest.Wait()
			if len(r.aways) > 0 {
				t.Fatalf("retired after %d timeouts", i)
			}
			r.start(get(t)).fails()
		}
		synctest.Wait()
		if len(r.aways) != 1 || !r.aways[0].Local {
			t.Errorf("aways %+v", r.aways)
		}
	})
}

func TestAnswersBetweenTimeoutsKeepTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{HeaderTimeout: time.Second})
		for i := range 10 {
			a := r.start(get(t))
			r.hearsHeaders(uint32(1+4*i), true)
			b := r.start(get(t))
			r.hearsHeaders(uint32(3+4*i), true)
			r.ok(uint32(3+4*i), "")
			b.answer(200)
			a.fails()
			r.hearsReset(uint32(1+4*i), http2.ErrCodeCancel)
		}
		if len(r.aways) > 0 {
			t.Errorf("aways %+v", r.aways)
		}
	})
}
