package h1

import (
	"bufio"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"

	"example.com/connwise/internal/wire"
)

// A connection that ends before the word: the head is out, the body is as it was.
func TestEndsBeforeTheWord(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(r *rig)
		want error
	}{
		"FIN": {func(r *rig) { r.peer.Close() }, io.EOF},
		"RST": {func(r *rig) { r.peer.Reset() }, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			eachConfirming(t, Options{}, func(t *testing.T, r *rig, a *attempt, text string) {
				tt.end(r)
				a.failsWith(tt.want)
				a.wantFacts(wire.Facts{Sent: a.x.Facts().Sent, HeadOnly: true})
			})
		})
	}
}

// With TLS the end is a close_notify, and the head a record that left whole.
func TestEndsBeforeTheWordUnderTLS(t *testing.T) {
	client, server, _ := tlsPair(t)
	defer server.Close()
	r := &rig{t: t, c: NewConn(client, &Options{}), br: bufio.NewReader(server)}
	req := sizedPost(t, 4, newBody(t, "body"))
	req.Confirm = true
	a := r.start(req)
	r.hearsHead()
	server.Close()
	a.failsWith(io.EOF)
	a.wantFacts(wire.Facts{Sent: a.x.Facts().Sent, HeadOnly: true})
}

// Once a byte of an answer is there, or one of the body was written, it isn't so any more.
func TestEndsBehindTheWord(t *testing.T) {
	for name, before := range map[string]string{
		"100":     "HTTP/1.1 100 Continue\r\n\r\n",
		"103":     "HTTP/1.1 103 Early Hints\r\n\r\n",
		"a piece": "HTT",
	} {
		t.Run(name, func(t *testing.T) {
			eachConfirming(t, Options{}, func(t *testing.T, r *rig, a *attempt, text string) {
				r.says(before)
				synctest.Wait()
				r.peer.Close()
				a.fails()
				if f := a.x.Facts(); f.HeadOnly || !f.Answered {
					t.Errorf("facts %+v", f)
				}
			})
		})
	}
	t.Run("after silence", func(t *testing.T) {
		eachConfirming(t, Options{}, func(t *testing.T, r *rig, a *attempt, text string) {
			r.hears(text)
			r.peer.Close()
			a.fails()
			if f := a.x.Facts(); f.HeadOnly || !f.Unheard {
				t.Errorf("facts %+v", f)
			}
		})
	})
}

// A head of which only a part was taken counts like a whole one; of which nothing was, as nothing.
func TestHeadThatLeavesInPart(t *testing.T) {
	for _, taken := range []int{0, 1, 20} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{})
			r.nc.FailWriteAfter(taken, errOwn)
			req := sizedPost(t, 4, newBody(t, "body"))
			req.Confirm = true
			a := r.start(req)
			if err := a.fails(); !errors.Is(err, errOwn) {
				t.Errorf("err = %v", err)
			}
			a.wantFacts(wire.Facts{Sent: int64(taken), HeadOnly: taken > 0})
		})
	}
}

// An upload that was stopped writes nothing, and so the fact stays.
func TestStoppedUploadCommitsNothing(t *testing.T) {
	x := &Exchange{c: &Conn{opt: &Options{}}, gated: true}
	x.facts.Sent = 1
	x.req = small(t, "body")
	u := x.newUpload()
	x.mu.Lock()
	u.stopLocked()
	x.mu.Unlock()
	if err := u.write([]byte("b")); err != errStopped || !x.Facts().HeadOnly {
		t.Errorf("write: %v, facts %+v", err, x.Facts())
	}
}
