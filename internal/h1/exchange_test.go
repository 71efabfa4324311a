package h1

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

func TestGetOverAKeptConnection(t *testing.T) {
	r := newRig(t, Options{})
	for range 3 {
		a := r.start(get(t))
		r.hears(getHead)
		r.says(ok5)
		if resp := a.answer(200); resp.Body != io.ReadCloser(&a.x) || resp.ContentLength != 5 {
			t.Errorf("body %T, length %d", resp.Body, resp.ContentLength)
		}
		a.open()
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		a.wantFacts(wire.Facts{Sent: int64(len(getHead)), AllSent: true, Answered: true})
		a.reads("") // still EOF
		a.resp.Body.Close()
		if _, err := a.resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
			t.Errorf("Read after Close: %v", err)
		}
		a.resp.Body.Close()
	}
	r.wantOpen()
}

func TestSmallBodyGoesWithItsHeadInOneWrite(t *testing.T) {
	r := newRig(t, Options{})
	want := "POST /p HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 3\r\n\r\nabc"
	r.nc.SetBuffer(len(want)) // a second Write would find no room, and fail
	r.nc.FailWriteAfter(len(want), errors.New("no more"))
	req := small(t, "abc")
	req.Body = untouchable{t}
	a := r.start(req)
	r.hears(want)
	r.says(ok0)
	a.answer(200)
	a.wantEnd(wire.EndKept)
	a.wantFacts(wire.Facts{Sent: int64(len(want)), AllSent: true, Answered: true})
}

// untouchable is a body that h1 must leave alone.
type untouchable struct{ t *testing.T }

func (u untouchable) Read([]byte) (int, error) { u.t.Error("Read of the body"); return 0, io.EOF }
func (u untouchable) Close() error             { u.t.Error("Close of the body"); return nil }

func TestSmallChunkedBodyAndTrailer(t *testing.T) {
	r := newRig(t, Options{})
	req := small(t, "abc")
	req.TransferEncoding = []string{"chunked"}
	req.Trailer = http.Header{"X-T": {"v\r\nw"}, "Content-Length": {"1"}}
	a := r.start(req)
	var invalid *wire.RequestError
	if err := a.fails(); !errors.As(err, &invalid) {
		t.Fatalf("forbidden trailer: %v", err)
	}
	r = newRig(t, Options{})
	delete(req.Trailer, "Content-Length")
	a = r.start(req)
	r.hears(strings.Replace(postHead, "\r\n\r\n", "\r\nTrailer: X-T\r\n\r\n", 1) + "3\r\nabc\r\n0\r\nX-T: v  w\r\n\r\n")
	r.says(ok0)
	a.answer(200)
	a.wantEnd(wire.EndKept)
}

func TestSmallBodyOfTheWrongLengthIsNotSent(t *testing.T) {
	r := newRig(t, Options{})
	req := small(t, "abc")
	req.ContentLength = 5
	err := r.start(req).fails()
	var bad *wire.BodyError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "http: ContentLength=5 with Body length 3") {
		t.Errorf("err = %v", err)
	}
	r.wantClosed()
	r.hearsEnd()
}

func TestAnswerTrailers(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T, X-U\r\n\r\n1\r\na\r\n")
	if v, ok := a.answer(200).Trailer["X-T"]; !ok || v != nil {
		t.Errorf("announced trailer is %q, %v", v, ok)
	}
	r.says("0\r\nX-T: t\r\nX-V: v\r\n\r\n")
	a.reads("a")
	a.wantEnd(wire.EndKept)
	if tr := a.resp.Trailer; tr.Get("X-T") != "t" || tr.Get("X-V") != "v" {
		t.Errorf("trailers %v", tr)
	}
}

func TestKeepAliveFieldIsReported(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.says("HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5, max=9\r\n\r\n")
	a.answer(204)
	if v := a.x.Facts().KeepAlive; v != "timeout=5, max=9" {
		t.Errorf("KeepAlive = %q", v)
	}
}

func TestStartOnAClosedOrBusyConnection(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	if err := r.start(get(t)).fails(); err != errConnBusy {
		t.Errorf("second exchange: %v", err)
	}
	r.wantOpen()
	r.says(ok5)
	a.answer(200)
	a.reads("hello")
	r.c.Close()
	b := newBody(t, "x")
	again := r.start(post(t, b))
	again.failsWith(net.ErrClosed)
	again.wantFacts(wire.Facts{})
	b.wantClosed()
}

func TestConnCloseEndsAnExchange(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.c.Close()
	a.failsWith(net.ErrClosed)

	r = newRig(t, Options{})
	a = r.start(get(t))
	r.hearsHead()
	r.says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")
	a.answer(200)
	r.c.Close()
	if _, err := io.ReadAll(a.resp.Body); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read: %v", err)
	}
	a.wantEnd(wire.EndError)
}

func TestLastReadIsWhenBytesCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		a := r.start(get(t))
		r.hearsHead()
		time.Sleep(time.Second)
		r.says(ok5)
		a.answer(200)
		at := time.Now()
		time.Sleep(time.Second)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		if got := a.x.LastRead(); !got.Equal(at) {
			t.Errorf("LastRead = %v, want %v", got, at)
		}
	})
}
