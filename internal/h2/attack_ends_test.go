package h2

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// A watchedCtx counts who waits for its end.
type watchedCtx struct {
	context.Context
	watches atomic.Int32
}

func newWatchedCtx(t *testing.T) *watchedCtx {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return &watchedCtx{Context: ctx}
}

// Value hides what the context is made of, so that AfterFunc is asked.
func (c *watchedCtx) Value(any) any { return nil }

// AfterFunc is what context.AfterFunc calls.
func (c *watchedCtx) AfterFunc(f func()) func() bool {
	c.watches.Add(1)
	stop := context.AfterFunc(c.Context, f)
	var once atomic.Bool
	return func() bool {
		if once.CompareAndSwap(false, true) {
			c.watches.Add(-1)
		}
		return stop()
	}
}

// An answer without a body has nobody who would close it. What Start left behind to watch
// over the stream has to go with the stream, or each such request costs a long-lived context,
// or a goroutine where it has a Cancel channel, for good.
func TestAttackNothingWatchesAStreamThatIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		ctx := newWatchedCtx(t)
		req := getCtx(t, ctx)
		req.Method = http.MethodHead
		req.Cancel = make(chan struct{}) // the bubble fails if a goroutine waits for it for good
		a := r.start(req)
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200", "content-length", "5") // END_STREAM comes behind it
		resp := a.answer(200)
		if resp.Body != http.NoBody {
			t.Fatalf("the answer has a body, %T", resp.Body)
		}
		r.fr.WriteData(1, true, nil)
		a.wantEnd(wire.EndKept)
		synctest.Wait()
		if n := ctx.watches.Load(); n != 0 {
			t.Errorf("%d watches over the context are left", n)
		}
	})
}

// 304 and 204 have no content, whatever Content-Length says of what they stand for (RFC 9110
// section 8.6, RFC 9113 section 8.1.1).
func TestAttackContentLengthOfAnAnswerWithoutContent(t *testing.T) {
	for _, status := range []string{"304", "204"} {
		for _, late := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				a := r.start(get(t))
				r.hearsHeaders(1, true)
				r.says(1, !late, ":status", status, "content-length", "1234")
				if late {
					r.fr.WriteData(1, true, nil)
				}
				<-a.ret
				if a.err != nil {
					t.Fatal(a.err)
				}
				a.reads("")
				a.resp.Body.Close()
				a.wantEnd(wire.EndKept)
				if n := a.resp.ContentLength; status == "304" && n != 1234 {
					t.Errorf("Content-Length %d, want 1234", n)
				}
			})
		}
	}
}

// A peer may answer a request whole before it takes its body, and never open its window. As
// there is no body that the caller could close, the stream has to end by itself, or its place
// is lost.
func TestAttackAnswerBeforeABodyThatMayNotBeSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		a := r.start(small(t, "hello"))
		r.hearsHeaders(1, false)
		r.ok(1, "")
		resp := a.answer(200)
		io.ReadAll(resp.Body)
		resp.Body.Close()
		r.hearsReset(1, http2.ErrCodeNo)
		a.wantEnd(wire.EndKept)
	})
}

// Streams are cancelled while a peer of good will sends small pieces of data as fast as it
// can. What was on the way is no flood: it fits the windows it was given.
func TestAttackDataOnItsWayToCancelledStreamsIsNoFlood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		b := r.start(get(t))
		r.hearsHeaders(3, true)
		r.says(1, false, ":status", "200")
		a.answer(200).Body.Close()
		r.hearsReset(1, http2.ErrCodeCancel)
		for range 30_000 {
			r.fr.WriteData(1, false, []byte(strings.Repeat("x", 50)))
		}
		r.ok(3, "well")
		b.answer(200)
		b.reads("well")
	})
}
