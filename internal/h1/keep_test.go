package h1

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

// keepCases says for answers to a GET which leave the connection usable.
var keepCases = []struct {
	name, answer, body string
	status             int
	end                wire.End
}{
	{"1.1", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, wire.EndKept},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", 200, wire.EndKept},
	{"no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", 200, wire.EndKept},
	{"204", "HTTP/1.1 204 No Content\r\n\r\n", "", 204, wire.EndKept},
	{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "", 304, wire.EndKept},
	{"204 with chunked", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "", 204, wire.EndKept},
	{"close", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab", "ab", 200, wire.EndNotKept},
	{"Close", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: CLOSE\r\n\r\nab", "ab", 200, wire.EndNotKept},
	{"close in a list", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: foo, close\r\n\r\nab", "ab", 200, wire.EndNotKept},
	{"close in a second line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: foo\r\nconnection: close , bar\r\n\r\nab", "ab", 200, wire.EndNotKept},
	{"close without a body", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", "", 204, wire.EndNotKept},
	{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, wire.EndNotKept},
	{"1.0 keep-alive", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nab", "ab", 200, wire.EndKept},
	{"1.0 keep-alive and close", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive, close\r\n\r\nab", "ab", 200, wire.EndNotKept},
	{"1.2", "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, wire.EndKept},
	{"2.0", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", 200, wire.EndNotKept},
	{"status 099", "HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nab", "ab", 99, wire.EndNotKept},
	{"101 unasked", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "", 101, wire.EndNotKept},
	{"surplus", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", "ab", 200, wire.EndSurplus},
	{"surplus answer", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n\r\n", "ab", 200, wire.EndSurplus},
	{"surplus without a body", "HTTP/1.1 204 No Content\r\n\r\n\n", "", 204, wire.EndSurplus},
	{"surplus chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n0\r\n", "", 200, wire.EndSurplus},
	{"length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", 200, wire.EndKept},
	{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nab", "ab", 200, wire.EndKept},
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
			if tt.end == wire.EndKept {
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
		a := r.start(wire.Request{Request: request(t, "HEAD", nil), Gzip: true})
		r.hearsHead()
		r.says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n" + answer + "\r\n")
		if a.answer(200).Body != http.NoBody {
			t.Errorf("Body is %T", a.resp.Body)
		}
		a.wantEnd(wire.EndKept)
	}
}

func TestRequestThatSaysClose(t *testing.T) {
	for name, change := range map[string]func(*wire.Request){
		"Request.Close":   func(r *wire.Request) { r.Close = true },
		"http.Close":      func(r *wire.Request) { r.Request.Close = true },
		"field":           func(r *wire.Request) { r.Header.Set("Connection", "close") },
		"field in a list": func(r *wire.Request) { r.Header["Connection"] = []string{"foo", "bar, Close"} },
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
			a.wantEnd(wire.EndNotKept)
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
	a.wantEnd(wire.EndNotKept)
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
		a.wantEnd(wire.EndNotKept)
		r.wantClosed()
	}
}
