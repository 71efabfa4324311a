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
		a.wantEnd(EndKept)
		a.wantFacts(Facts{Sent: int64(len(getHead)), AllSent: true, Answered: true})
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
	a.wantEnd(EndKept)
	a.wantFacts(Facts{Sent: int64(len(want)), AllSent: true, Answered: true})
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
	var invalid *RequestError
	if err := a.fails(); !errors.As(err, &invalid) {
		t.Fatalf("forbidden trailer: %v", err)
	}
	r = newRig(t, Options{})
	delete(req.Trailer, "Content-Length")
	a = r.start(req)
	r.hears(strings.Replace(postHead, "\r\n\r\n", "\r\nTrailer: X-T\r\n\r\n", 1) + "3\r\nabc\r\n0\r\nX-T: v  w\r\n\r\n")
	r.says(ok0)
	a.answer(200)
	a.wantEnd(EndKept)
}

func TestSmallBodyOfTheWrongLengthIsNotSent(t *testing.T) {
	r := newRig(t, Options{})
	req := small(t, "abc")
	req.ContentLength = 5
	err := r.start(req).fails()
	var bad *BodyError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "http: ContentLength=5 with Body length 3") {
		t.Errorf("err = %v", err)
	}
	r.wantClosed()
	r.hearsEnd()
}

// keepCases says for answers to a GET which leave the connection usable.
var keepCases = []struct {
	name, answer, body string
	status             int
	end                End
}{
	{"1.1", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, EndKept},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", 200, EndKept},
	{"no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", 200, EndKept},
	{"204", "HTTP/1.1 204 No Content\r\n\r\n", "", 204, EndKept},
	{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "", 304, EndKept},
	{"204 with chunked", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "", 204, EndKept},
	{"close", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab", "ab", 200, EndNotKept},
	{"Close", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: CLOSE\r\n\r\nab", "ab", 200, EndNotKept},
	{"close in a list", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: foo, close\r\n\r\nab", "ab", 200, EndNotKept},
	{"close in a second line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: foo\r\nconnection: close , bar\r\n\r\nab", "ab", 200, EndNotKept},
	{"close without a body", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", "", 204, EndNotKept},
	{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, EndNotKept},
	{"1.0 keep-alive", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nab", "ab", 200, EndKept},
	{"1.0 keep-alive and close", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive, close\r\n\r\nab", "ab", 200, EndNotKept},
	{"1.2", "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, EndKept},
	{"2.0", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, EndNotKept},
	{"status 099", "HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nab", "ab", 99, EndNotKept},
	{"101 unasked", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "", 101, EndNotKept},
	{"surplus", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", "ab", 200, EndSurplus},
	{"surplus answer", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n\r\n", "ab", 200, EndSurplus},
	{"surplus without a body", "HTTP/1.1 204 No Content\r\n\r\n\n", "", 204, EndSurplus},
	{"surplus chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n0\r\n", "", 200, EndSurplus},
	{"length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", 200, EndKept},
	{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nab", "ab", 200, EndKept},
}

func TestWhatKeepsAConnection(t *testing.T) {
	for _, tt := range keepCases {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{})
			a := r.start(get(t))
			r.hearsHead()
			r.says(tt.answer)
			a.answer(tt.status)
			if tt.body == "" && a.resp.Body != http.NoBody && a.resp.ContentLength >= 0 {
				t.Errorf("Body is %T, want http.NoBody", a.resp.Body)
			}
			a.reads(tt.body)
			a.wantEnd(tt.end)
			if tt.end == EndKept {
				r.serves()
			} else {
				r.wantClosed()
			}
		})
	}
}

func TestHeadAnswerHasNoBody(t *testing.T) {
	for _, answer := range []string{"Content-Length: 500\r\n", "Transfer-Encoding: chunked\r\n", ""} {
		r := newRig(t, Options{})
		a := r.start(Request{Request: request(t, "HEAD", nil), Gzip: true})
		r.hearsHead()
		r.says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n" + answer + "\r\n")
		if a.answer(200).Body != http.NoBody {
			t.Errorf("Body is %T", a.resp.Body)
		}
		a.wantEnd(EndKept)
	}
}

func TestRequestThatSaysClose(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"Request.Close":   func(r *Request) { r.Close = true },
		"http.Close":      func(r *Request) { r.Request.Close = true },
		"field":           func(r *Request) { r.Header.Set("Connection", "close") },
		"field in a list": func(r *Request) { r.Header["Connection"] = []string{"foo", "bar, Close"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			req := get(t)
			change(&req)
			a := r.start(req)
			if head := r.hearsHead(); strings.Count(strings.ToLower(head), "close") != 1 {
				t.Errorf("head %q", head)
			}
			r.says(ok5)
			a.answer(200)
			a.reads("hello")
			a.wantEnd(EndNotKept)
			r.wantClosed()
		})
	}
}

func TestBodyDelimitedByTheEnd(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.says("HTTP/1.1 200 OK\r\n\r\nuntil the end")
	r.peer.Close()
	a.answer(200)
	a.reads("until the end")
	a.wantEnd(EndNotKept)
	r.wantClosed()
}

// eagerConn tells of the peer's end with the last bytes, as a tls.Conn does when the
// close_notify came with them.
type eagerConn struct{ net.Conn }

func (c eagerConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

func TestPeerThatClosedWithItsAnswerIsNotKept(t *testing.T) {
	for _, answer := range []string{ok5, ok0} {
		r := newRig(t, Options{})
		r.c = NewConn(eagerConn{r.nc}, &Options{})
		a := r.start(get(t))
		r.hearsHead()
		r.says(answer)
		a.answer(200)
		io.Copy(io.Discard, a.resp.Body)
		a.wantEnd(EndNotKept)
		r.wantClosed()
	}
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
	a.wantEnd(EndKept)
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

func TestOddAnswersAreErrors(t *testing.T) {
	for _, answer := range []string{
		"garbage\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/x 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\n bad: fold\r\n\r\n", "\x00\x01\x02\r\n\r\n",
	} {
		r := newRig(t, Options{})
		a := r.start(get(t))
		r.hearsHead()
		r.says(answer)
		var bad *AnswerError
		if err := a.fails(); !errors.As(err, &bad) {
			t.Errorf("%q: err = %v, want an AnswerError", answer, err)
		}
		a.wantFacts(Facts{Sent: int64(len(getHead)), AllSent: true, Answered: true})
		r.wantClosed()
	}
}

func TestBrokenBodies(t *testing.T) {
	for answer, wantBody := range map[string]string{
		"Content-Length: 5\r\n\r\nhell":                                        "hell",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n":                     "hello",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n":                "hello",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhell":                          "hell",
		"Transfer-Encoding: chunked\r\n\r\nxyz\r\n":                            "",
		"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n":                        "a",
		"Transfer-Encoding: chunked\r\nTrailer: A\r\n\r\n1\r\na\r\n0\r\nA: b":  "a",
		"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello\r\n":    "",
		"Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("x", 10000): "",
	} {
		r := newRig(t, Options{})
		a := r.start(get(t))
		r.hearsHead()
		r.says("HTTP/1.1 200 OK\r\n" + answer)
		r.peer.CloseWrite()
		a.answer(200)
		b, err := io.ReadAll(a.resp.Body)
		if string(b) != wantBody || err == nil {
			t.Errorf("%.60q: %q, %v", answer, b, err)
		}
		a.wantEnd(EndError)
		if _, again := a.resp.Body.Read(make([]byte, 9)); again != err {
			t.Errorf("%.60q: second Read %v, want %v", answer, again, err)
		}
		a.resp.Body.Close()
		r.wantClosed()
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
	again.wantFacts(Facts{})
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
	a.wantEnd(EndError)
}

func TestLastReadIsWhenBytesCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		if !r.c.LastRead().IsZero() {
			t.Error("LastRead isn't zero at first")
		}
		a := r.start(get(t))
		r.hearsHead()
		time.Sleep(time.Second)
		r.says(ok5)
		a.answer(200)
		at := time.Now()
		time.Sleep(time.Second)
		a.reads("hello")
		a.wantEnd(EndKept)
		if got := r.c.LastRead(); !got.Equal(at) {
			t.Errorf("LastRead = %v, want %v", got, at)
		}
	})
}
