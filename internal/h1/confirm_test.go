package h1

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

// eachConfirming runs f with a request that asks for a sign of life, by the ways in which
// bodies are sent. text is what the body is on the wire.
func eachConfirming(t *testing.T, opt Options, f func(t *testing.T, r *rig, a *attempt, text string)) {
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte("body"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(t *testing.T) io.ReadCloser{
		"chunked":   func(t *testing.T) io.ReadCloser { return newBody(t, "body") },
		"sized":     func(t *testing.T) io.ReadCloser { return newBody(t, "body") },
		"in memory": nil,
		"file": func(t *testing.T) io.ReadCloser {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, opt)
				req := small(t, "body")
				if open != nil {
					req = sizedPost(t, 4, open(t))
				}
				if name == "chunked" {
					req = post(t, req.Body)
				}
				req.Confirm = true
				a := r.start(req)
				if head := r.hearsHead(); strings.Count(head, "Expect: 100-continue\r\n") != 1 {
					t.Errorf("head %q", head)
				}
				a.untouched()
				r.silent()
				f(t, r, a, encoded(name))
				if len(req.Header["Expect"]) > 0 {
					t.Error("the caller's header was changed")
				}
				if b, ok := req.Body.(*body); ok && req.Small == nil {
					synctest.Wait()
					b.wantClosed()
				}
			})
		})
	}
}

// The peer's word lets the body go, however many others come first.
func TestConfirmed(t *testing.T) {
	eachConfirming(t, Options{}, func(t *testing.T, r *rig, a *attempt, text string) {
		time.Sleep(confirmWait - 1)
		r.says("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		r.silent()
		a.untouched()
		r.says("HTTP/1.1 100 Continue\r\n\r\n")
		r.hears(text)
		r.says(ok5)
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		if f := a.x.Facts(); f.HeadOnly || f.Unheard || !f.AllSent {
			t.Errorf("facts %+v", f)
		}
		r.serves()
	})
}

// Silence is no reason to wait for ever (RFC 9110 section 10.1.1).
func TestUnconfirmed(t *testing.T) {
	for _, wait := range []time.Duration{0, 30 * time.Millisecond} {
		eachConfirming(t, Options{ContinueTimeout: wait}, func(t *testing.T, r *rig, a *attempt, text string) {
			start := time.Now()
			r.hears(text)
			if wait == 0 {
				wait = confirmWait
			}
			elapsed(t, start, wait)
			if f := a.x.Facts(); !f.Unheard || f.HeadOnly {
				t.Errorf("facts %+v", f)
			}
			r.says("HTTP/1.1 100 Continue\r\n\r\n" + ok5) // late
			a.answer(200)
			a.reads("hello")
			a.wantEnd(wire.EndKept)
			r.serves()
		})
	}
}

// 417 says that the request is to come without the expectation. The caller didn't ask.
func TestExpectationFailed(t *testing.T) {
	eachConfirming(t, Options{}, func(t *testing.T, r *rig, a *attempt, text string) {
		r.says("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 3\r\n\r\nno!")
		a.failsWith(wire.ErrExpectationFailed)
		r.hearsEnd()
		r.wantClosed()
		a.wantFacts(wire.Facts{Sent: a.x.Facts().Sent, Answered: true})
	})
}

// What the caller asks for is answered to the caller.
func TestOwnExpectationFailed(t *testing.T) {
	eachExpecting(t, time.Hour, func(t *testing.T, r *rig, a *attempt, text string) {
		r.says("HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		a.answer(417)
		a.wantEnd(wire.EndNotKept)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		req := sizedPost(t, 4, newBody(t, "body"))
		req.Header.Set("Expect", "100-continue")
		req.Confirm = true
		a := r.start(req)
		if head := r.hearsHead(); strings.Count(head, "Expect") != 1 {
			t.Errorf("head %q", head)
		}
		r.silent() // Options have no time for it, but Confirm does
		r.says("HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		a.answer(417)
		a.wantEnd(wire.EndNotKept)
	})
}

// Any other final answer is the answer.
func TestFinalAnswerBeforeTheWord(t *testing.T) {
	eachConfirming(t, Options{}, func(t *testing.T, r *rig, a *attempt, text string) {
		r.says("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
		a.answer(401)
		a.resp.Body.Close()
		r.hears(text)
		a.wantEnd(wire.EndKept)
		r.serves()
	})
}

// Without content there is no expectation (RFC 9110 section 10.1.1), be it known beforehand
// or found out.
func TestNothingToConfirm(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) *http.Request{
		"no body": func(t *testing.T) *http.Request { return request(t, "POST", nil) },
		"empty":   func(t *testing.T) *http.Request { return request(t, "DELETE", io.NopCloser(strings.NewReader(""))) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{})
				a := r.start(wire.Request{Request: make(t), Confirm: true})
				if head := r.hearsHead(); strings.Contains(head, "Expect") {
					t.Errorf("head %q", head)
				}
				r.says(ok0)
				a.answer(200)
				a.wantEnd(wire.EndKept)
			})
		})
	}
}
