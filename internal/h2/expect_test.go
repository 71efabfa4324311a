package h2

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

func expecting(t *testing.T, body io.Reader, text string) wire.Request {
	req := post(t, body)
	if body == nil {
		req.Small = []byte(text)
	}
	req.Header.Set("Expect", "100-continue")
	return req
}

// Each way in which a body that awaits consent gets it, or not, in memory and streamed.
func TestExpect(t *testing.T) {
	const wait = time.Second
	for name, tt := range map[string]struct {
		peer func(r *rig)
		sent bool
		took time.Duration
	}{
		"100":     {func(r *rig) { r.says(1, false, ":status", "100") }, true, 0},
		"silence": {func(r *rig) {}, true, wait},
		"103":     {func(r *rig) { r.says(1, false, ":status", "103") }, true, wait},
		"417":     {func(r *rig) { r.says(1, true, ":status", "417") }, false, 0},
		"200":     {func(r *rig) { r.says(1, true, ":status", "200") }, false, 0},
		"200 with a body": {func(r *rig) {
			r.says(1, false, ":status", "200")
			r.fr.WriteData(1, true, []byte("hello"))
		}, false, 0},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newOpenRig(t, Options{ContinueTimeout: wait})
					body := newBody(t, "hello")
					req := expecting(t, body, "")
					if !streamed {
						req = expecting(t, nil, "hello")
					}
					a := r.start(req)
					r.hearsHeaders(1, false)
					r.hearsNothing()
					start := time.Now()
					tt.peer(r)
					if tt.sent {
						r.hearsData(1, "hello", !streamed)
						elapsed(t, start, tt.took)
						if streamed {
							r.hearsData(1, "", true)
						}
						r.ok(1, "")
						a.answer(200)
					} else {
						<-a.ret
						if a.err != nil {
							t.Fatal(a.err)
						}
						io.ReadAll(a.resp.Body)
						r.hearsReset(1, http2.ErrCodeNo)
						if body.reads.Load() != 0 {
							t.Error("the body was read")
						}
					}
					a.wantEnd(wire.EndKept)
					a.resp.Body.Close()
					synctest.Wait()
					if streamed {
						body.wantClosed()
					}
					b := r.start(get(t))
					r.hearsHeaders(3, true)
					r.ok(3, "")
					b.answer(200)
				})
			})
		}
	}
}

// A final answer without its end: the body stays here, and the stream is reset only when the
// answer is through.
func TestExpectIsRefusedSlowly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{ContinueTimeout: time.Second})
		body := newBody(t, "hello")
		a := r.start(expecting(t, body, ""))
		r.hearsHeaders(1, false)
		r.says(1, false, ":status", "413")
		a.answer(413)
		body.wantClosed()
		time.Sleep(time.Minute)
		r.hearsNothing()
		r.fr.WriteData(1, true, []byte("too large"))
		a.reads("too large")
		r.hearsReset(1, http2.ErrCodeNo)
		a.wantEnd(wire.EndKept)
	})
}

func TestExpectWithoutATimeoutDoesntWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.start(expecting(t, nil, "hello"))
		r.hearsHeaders(1, false)
		r.hearsData(1, "hello", true)
	})
}
