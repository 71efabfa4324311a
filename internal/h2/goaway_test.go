package h2

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// Streams at or below the last id go on until they end; those above end at once, and nothing
// new begins.
func TestGoAwaySortsTheStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		var as []*attempt
		for i := range 5 {
			as = append(as, r.start(get(t)))
			r.hearsHeaders(uint32(1+2*i), true)
		}
		r.fr.WriteGoAway(5, http2.ErrCodeNo, []byte(strings.Repeat("x", 1000)))
		for _, a := range as[3:] {
			ga, ok := errors.AsType[*GoAwayError](a.fails())
			if !ok || ga.LastStreamID != 5 || ga.Err != nil || len(ga.Debug) != maxDebug {
				t.Errorf("failed with %v", a.err)
			}
			if !a.x.Facts().Refused {
				t.Error("not refused")
			}
			a.wantEnd(wire.EndError)
		}
		late := r.start(get(t))
		late.fails()
		late.wantFacts(wire.Facts{})
		late.wantEnd(wire.EndError)
		time.Sleep(time.Minute)
		for i, a := range as[:3] {
			r.ok(uint32(1+2*i), "hello")
			a.answer(200)
			a.reads("hello")
			a.wantEnd(wire.EndKept)
		}
		r.hearsNothing()
		if len(r.aways) != 1 || r.aways[0].LastStreamID != 5 || r.aways[0].Local || !r.c.State().GoAway {
			t.Errorf("told of %+v", r.aways)
		}
	})
}

// A later GOAWAY can't give back what an earlier one took.
func TestGoAwayIsNotTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.fr.WriteGoAway(1, http2.ErrCodeNo, nil)
		r.fr.WriteGoAway(noMoreStreams, http2.ErrCodeEnhanceYourCalm, nil)
		r.peer.Close()
		ga, ok := errors.AsType[*GoAwayError](a.fails())
		if !ok || ga.LastStreamID != 1 || ga.Code != http2.ErrCodeEnhanceYourCalm || !errors.Is(ga, io.ErrUnexpectedEOF) {
			t.Errorf("failed with %v", a.err)
		}
		<-r.ended
		if ga, ok := errors.AsType[*GoAwayError](r.ends[0]); !ok || ga.StreamID != 0 {
			t.Errorf("ended with %v", r.ends)
		}
	})
}

// Uploads above the last id stop, with what was left of their bodies.
func TestGoAwayStopsUploads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		pr, pw := io.Pipe()
		body := &testBody{t: t, r: pr}
		a := r.start(post(t, body))
		r.hearsHeaders(1, false)
		io.WriteString(pw, "one")
		r.hearsData(1, "one", false)
		r.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		a.fails()
		f := a.x.Facts()
		if !f.Refused || !f.BodyTouched || f.AllSent {
			t.Errorf("facts %+v", f)
		}
		body.wantClosed()
	})
}

func TestStreamIDsRunOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.c.mu.Lock()
		r.c.nextID = maxStreamID
		r.c.mu.Unlock()
		a := r.start(get(t))
		b := r.start(get(t))
		r.hearsHeaders(maxStreamID, true)
		r.ok(maxStreamID, "")
		synctest.Wait()
		failed := 0
		for _, x := range []*attempt{a, b} {
			if <-x.ret; x.err != nil {
				failed++
				x.wantFacts(wire.Facts{})
				if ga, ok := errors.AsType[*GoAwayError](x.err); !ok || !ga.Local {
					t.Errorf("failed with %v", x.err)
				}
			}
		}
		if failed != 1 || len(r.aways) != 1 || !r.aways[0].Local || r.aways[0].Failing {
			t.Errorf("%d failed, told of %+v", failed, r.aways)
		}
	})
}

func TestStreamLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.hearsPreface()
		if n := r.c.State().StreamLimit; n != 0 {
			t.Errorf("limit %d before the peer's SETTINGS", n)
		}
		r.fr.WriteSettings()
		r.hearsSettingsAck()
		for _, n := range []uint32{100, 100, 0, 7} {
			r.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n})
			r.hearsSettingsAck()
		}
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 20000})
		r.hearsSettingsAck()
		synctest.Wait()
		want := []uint32{DefaultStreams, 100, 0, 7}
		if len(r.limits) != len(want) {
			t.Fatalf("limits %v, want %v", r.limits, want)
		}
		for i := range want {
			if r.limits[i] != want[i] {
				t.Errorf("limits %v, want %v", r.limits, want)
			}
		}
	})
}

// Open streams go on when the limit is lowered below their number.
func TestLoweredLimitEndsNoStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		r.hearsSettingsAck()
		r.ok(1, "hello")
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
	})
}

func TestRequestSaysClose(t *testing.T) {
	for _, f := range []func(*wire.Request){
		func(r *wire.Request) { r.Close = true },
		func(r *wire.Request) { r.Request.Close = true },
		func(r *wire.Request) { r.Header.Set("Connection", "close") },
	} {
		bubble(t, func(t *testing.T) {
			r := newOpenRig(t, Options{})
			req := get(t)
			f(&req)
			a := r.start(req)
			r.hearsHeaders(1, true)
			r.ok(1, "")
			a.answer(200)
			a.wantEnd(wire.EndNotKept)
		})
	}
}
