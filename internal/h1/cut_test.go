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

var errCut = errors.New("cut")

// cutRequests are requests by their ways through h1, and what they are on the wire.
var cutRequests = []struct {
	name string
	req  func(t *testing.T) (wire.Request, *body)
	wire string
}{
	{"GET", func(t *testing.T) (wire.Request, *body) { return get(t), nil }, getHead},
	{"small POST", func(t *testing.T) (wire.Request, *body) { return small(t, "abc"), nil },
		"POST /p HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 3\r\n\r\nabc"},
	{"streamed POST", func(t *testing.T) (wire.Request, *body) { b := newBody(t, "abc"); return post(t, b), b },
		postHead + "3\r\nabc\r\n0\r\n\r\n"},
}

// TestConnectionThatTakesNBytes fails the write at every byte of a request.
func TestConnectionThatTakesNBytes(t *testing.T) {
	for _, tt := range cutRequests {
		for k := range len(tt.wire) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{})
				req, b := tt.req(t)
				r.nc.FailWriteAfter(k, errCut)
				start := time.Now()
				a := r.start(req)
				a.failsWith(errCut)
				if k == 0 {
					elapsed(t, start, 0) // no answer can be this request's
				} else {
					elapsed(t, start, answerWait)
				}
				touched := b != nil && k >= len(postHead)
				a.wantFacts(wire.Facts{Sent: int64(k), BodyTouched: touched})
				if b != nil {
					b.wantClosed()
					if b.reads > 0 != touched {
						t.Errorf("cut at %d: %d reads of the body", k, b.reads)
					}
				}
				r.wantClosed()
				r.hears(tt.wire[:k])
			})
		}
	}
}

// TestAnswerBeatsAWriteError has an answer for what was cut.
func TestAnswerBeatsAWriteError(t *testing.T) {
	for _, tt := range cutRequests {
		for _, k := range []int{1, len(tt.wire) / 2, len(tt.wire) - 1} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{})
				req, b := tt.req(t)
				r.nc.FailWriteAfter(k, errCut)
				a := r.start(req)
				r.hears(tt.wire[:k])
				time.Sleep(answerWait / 2)
				r.says("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\n")
				a.answer(413)
				time.Sleep(2 * answerWait) // the wait is for the head only
				r.says("hello")
				a.reads("hello")
				a.wantEnd(wire.EndUpload)
				r.wantClosed()
				if b != nil {
					b.wantClosed()
				}
			})
		}
	}
}

// TestCutAnswerBeatsAWriteError: the peer had begun to answer, which is the later fact.
func TestCutAnswerBeatsAWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.nc.FailWriteAfter(10, errCut)
		a := r.start(get(t))
		r.says("HTTP/1.1 413 Content Too Large\r\n")
		r.peer.CloseWrite()
		a.failsWith(io.ErrUnexpectedEOF)
		a.wantFacts(wire.Facts{Sent: 10, Answered: true})
	})
}

// TestAnswerCutAtEveryByte ends the connection at every byte of an answer.
func TestAnswerCutAtEveryByte(t *testing.T) {
	const head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	const answer = head + "hello"
	for _, tt := range cutRequests {
		for k := range len(answer) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Options{})
				req, b := tt.req(t)
				a := r.start(req)
				r.hears(tt.wire)
				r.says(answer[:k])
				r.peer.Close()
				want := wire.Facts{Sent: int64(len(tt.wire)), AllSent: true, BodyTouched: b != nil, Answered: k > 0}
				switch {
				case k == 0:
					if err := a.fails(); err != io.EOF {
						t.Errorf("err = %v, want EOF", err)
					}
				case k < len(head):
					if err := a.fails(); !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("cut at %d: %v, want an unexpected EOF", k, err)
					}
				default:
					a.answer(200)
					got, err := io.ReadAll(a.resp.Body)
					if string(got) != answer[len(head):k] || err != io.ErrUnexpectedEOF {
						t.Errorf("cut at %d: read %q, %v", k, got, err)
					}
					a.wantEnd(wire.EndError)
				}
				a.wantFacts(want)
				r.wantClosed()
				if b != nil {
					<-a.x.up.done
					b.wantClosed()
				}
			})
		}
	}
}

// TestResetKeepsItsErrno makes sure that a cause is not replaced.
func TestResetKeepsItsErrno(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.peer.Reset()
	if err := a.fails(); !strings.Contains(err.Error(), "connection reset by peer") {
		t.Errorf("err = %v", err)
	}
	a.wantFacts(wire.Facts{Sent: int64(len(getHead)), AllSent: true})
}
