package h1

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

// expecting are requests that ask for consent, by the ways in which the body is sent.
func expecting(t *testing.T) map[string]wire.Request {
	reqs := map[string]wire.Request{
		"chunked":   post(t, newBody(t, "body")),
		"sized":     sizedPost(t, 4, newBody(t, "body")),
		"in memory": small(t, "body"),
	}
	for _, r := range reqs {
		r.Header.Set("Expect", "100-continue")
	}
	return reqs
}

func encoded(name string) string {
	if name == "chunked" {
		return chunkOf("body") + "0\r\n\r\n"
	}
	return "body"
}

// silent wants that the peer has received nothing more. Only in a bubble.
func (r *rig) silent() {
	r.t.Helper()
	synctest.Wait()
	if n := r.peer.Unread() + r.br.Buffered(); n > 0 {
		r.t.Fatalf("the peer has received %d bytes more", n)
	}
}

// untouched wants that nothing has read a's body. Only in a bubble.
func (a *attempt) untouched() {
	a.t.Helper()
	synctest.Wait()
	if a.x.Facts().BodyTouched {
		a.t.Fatal("the body was touched")
	}
}

func eachExpecting(t *testing.T, wait time.Duration, f func(t *testing.T, r *rig, a *attempt, text string)) {
	for _, name := range []string{"chunked", "sized", "in memory"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{ContinueTimeout: wait})
				req := expecting(t)[name]
				a := r.start(req)
				if head := r.hearsHead(); !strings.Contains(head, "Expect: 100-continue\r\n") {
					t.Errorf("head %q", head)
				}
				f(t, r, a, encoded(name))
				if b, ok := req.Body.(*body); ok && req.Small == nil {
					synctest.Wait()
					b.wantClosed()
				}
			})
		})
	}
}

func TestContinue(t *testing.T) {
	eachExpecting(t, time.Hour, func(t *testing.T, r *rig, a *attempt, text string) {
		a.untouched()
		r.silent()
		r.says("HTTP/1.1 100 Continue\r\n\r\n")
		r.hears(text)
		r.says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok5) // surplus ones are skipped
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		r.serves()
	})
}

func TestContinueTimeout(t *testing.T) {
	eachExpecting(t, time.Second, func(t *testing.T, r *rig, a *attempt, text string) {
		start := time.Now()
		r.hears(text)
		elapsed(t, start, time.Second)
		r.says("HTTP/1.1 100 Continue\r\n\r\n" + ok5) // late
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		r.serves()
	})
}

func TestWithoutAContinueTimeoutTheBodyDoesNotWait(t *testing.T) {
	eachExpecting(t, 0, func(t *testing.T, r *rig, a *attempt, text string) {
		start := time.Now()
		r.hears(text)
		elapsed(t, start, 0)
		r.says(ok0)
		a.answer(200)
		a.wantEnd(wire.EndKept)
	})
}

// TestFinalAnswerInsteadOfContinue: a peer that keeps the connection reads on as if the
// body came, so it has to come.
func TestFinalAnswerInsteadOfContinue(t *testing.T) {
	for _, status := range []string{"200 OK", "401 Unauthorized", "417 Expectation Failed", "500 Oops"} {
		eachExpecting(t, time.Hour, func(t *testing.T, r *rig, a *attempt, text string) {
			r.says("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n")
			<-a.ret
			if a.err != nil || a.resp.Status != status {
				t.Fatalf("Start: %v", a.err)
			}
			a.resp.Body.Close() // as careful callers do
			r.hears(text)
			a.wantEnd(wire.EndKept)
			r.serves()
		})
	}
}

func TestFinalAnswerWithCloseInsteadOfContinue(t *testing.T) {
	for _, answer := range []string{ok0, ok5, "HTTP/1.0 200 OK\r\n\r\nhello"} {
		eachExpecting(t, time.Hour, func(t *testing.T, r *rig, a *attempt, text string) {
			if !strings.Contains(answer, "1.0") {
				answer = strings.Replace(answer, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
			}
			r.says(answer)
			r.peer.CloseWrite()
			a.answer(200)
			a.untouched()
			if _, err := io.ReadAll(a.resp.Body); err != nil {
				t.Errorf("Read: %v", err)
			}
			a.wantEnd(wire.EndNotKept)
			r.hearsEnd()
			f := a.x.Facts()
			if f.AllSent || f.BodyTouched {
				t.Errorf("facts %+v", f)
			}
		})
	}
}

func TestPeerClosesInsteadOfContinue(t *testing.T) {
	eachExpecting(t, time.Hour, func(t *testing.T, r *rig, a *attempt, text string) {
		r.peer.Close()
		if err := a.fails(); err != io.EOF {
			t.Errorf("err = %v", err)
		}
		f := a.x.Facts()
		if f.AllSent || f.BodyTouched || f.BodyBusy || f.Answered || f.Sent == 0 {
			t.Errorf("facts %+v", f)
		}
	})
}

func TestCancelInsteadOfContinue(t *testing.T) {
	eachExpecting(t, time.Hour, func(t *testing.T, r *rig, a *attempt, text string) {
		synctest.Wait()
		r.c.Close()
		a.fails()
		a.wantFacts(wire.Facts{Sent: a.x.Facts().Sent, HeadOnly: true})
	})
}

func TestUnreadSlowBodyIsNotWaitedForAfterAFinalAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{ContinueTimeout: time.Hour})
		pr, pw := io.Pipe()
		defer pw.Close()
		req := post(t, pr)
		req.Header.Set("Expect", "100-continue")
		a := r.start(req)
		r.hearsHead()
		start := time.Now()
		r.says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
		a.answer(401)
		elapsed(t, start, lastWriteWait)
		a.open()
		a.resp.Body.Close()
		a.wantEnd(wire.EndUpload)
		r.wantClosed()
	})
}

func TestExpectWithoutABodyIsNotWaitedFor(t *testing.T) {
	r := newRig(t, Options{ContinueTimeout: time.Hour})
	req := get(t)
	req.Header.Set("Expect", "100-continue")
	a := r.start(req)
	r.hearsHead()
	r.says("HTTP/1.1 100 Continue\r\n\r\n" + ok5)
	a.answer(200)
	a.reads("hello")
	a.wantEnd(wire.EndKept)
}

func TestBodyErrorAfterContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{ContinueTimeout: time.Hour})
		b := &failing{body{t: t, r: strings.NewReader("")}, func() (int, error) { return 0, errOwn }}
		req := post(t, b)
		req.Header.Set("Expect", "100-continue")
		a := r.start(req)
		r.hearsHead()
		r.says("HTTP/1.1 100 Continue\r\n\r\n")
		if err := a.fails(); !errors.Is(err, errOwn) {
			t.Errorf("err = %v", err)
		}
		b.wantClosed()
	})
}
