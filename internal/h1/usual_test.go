package h1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

// usualHeads have heads that the short way takes.
var usualHeads = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 \r\ncontent-length:5\r\nx-LOWER-uP: \t a b\t \r\nX-Empty:\r\nX-Empty: \r\n\r\nhello",
	"HTTP/1.1 404 Not  Found\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\nHTTP",
	"HTTP/1.1 599 \xff\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n--1'x: \x80\r\nContent-Length: 005\r\nSet-Cookie: c\r\n\r\nhello and more",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
}

// unusualHeads have heads that it leaves to net/http's parser.
var unusualHeads = []string{
	"", "HTTP/1.1 ", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r",
	"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 101 X\r\n\r\n", "HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 2000 X\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "HTTP/1.1 200 OK\r\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: a\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n X: folded\r\n\r\n", "HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n: x\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nx y: z\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \x00\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX\x80: y\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 1234567890123456\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTrailer: X\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nPragma: no-cache\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + strings.Repeat("X: y\r\n", maxUsualFields) + "\r\n",
}

// short gives the short way what has come.
func short(came []byte, method string) (*Exchange, *http.Response) {
	x := &Exchange{br: bufio.NewReaderSize(bytes.NewReader(came), 64<<10), req: wire.Request{Request: &http.Request{Method: method}}}
	x.br.Peek(1)
	resp := x.usual()
	if resp != nil && resp.Body != http.NoBody {
		x.takeBody(resp)
	}
	return x, resp
}

func TestUsualHead(t *testing.T) {
	for _, s := range usualHeads {
		if _, resp := short([]byte(s), "GET"); resp == nil {
			t.Errorf("%q was not taken", s)
		}
		sameAsNetHTTP(t, []byte(s))
	}
	for _, s := range unusualHeads {
		if _, resp := short([]byte(s), "GET"); resp != nil {
			t.Errorf("%q was taken", s)
		}
		sameAsNetHTTP(t, []byte(s))
	}
}

// A HEAD's answer has the length of a body that doesn't come, and a CONNECT's no body at all.
func TestUsualHeadOfMethod(t *testing.T) {
	for _, method := range []string{"HEAD", "CONNECT"} {
		if _, resp := short([]byte(usualHeads[0]), method); resp != nil {
			t.Errorf("the answer to a %s was taken", method)
		}
	}
}

// What the short way takes is what net/http's parser makes of it, and what it leaves is as it
// came, but for the case of names.
func FuzzUsual(f *testing.F) {
	for _, s := range append(usualHeads, unusualHeads...) {
		f.Add([]byte(s))
	}
	f.Fuzz(sameAsNetHTTP)
}

func sameAsNetHTTP(t *testing.T, came []byte) {
	br := bufio.NewReaderSize(bytes.NewReader(bytes.Clone(came)), 64<<10)
	want, err := http.ReadResponse(br, &http.Request{Method: "GET"})
	x, got := short(came, "GET")
	if got == nil {
		br2 := x.br
		again, err2 := http.ReadResponse(br2, &http.Request{Method: "GET"})
		if (err == nil) != (err2 == nil) || err == nil && !reflect.DeepEqual(again.Header, want.Header) {
			t.Fatalf("%q was left as something else: %v, %v", came, again, err2)
		}
		return
	}
	if err != nil {
		t.Fatalf("%q: net/http takes it for invalid: %v", came, err)
	}
	wantBody, wantErr := io.ReadAll(want.Body)
	gotBody, gotErr := io.ReadAll(bodyOf(x, got))
	if !bytes.Equal(gotBody, wantBody) || gotErr != wantErr {
		t.Errorf("%q: body %q, %v; net/http has %q, %v", came, gotBody, gotErr, wantBody, wantErr)
	}
	if rest, wantRest := buffered(x.br), buffered(br); rest != wantRest {
		t.Errorf("%q: %q is left; net/http leaves %q", came, rest, wantRest)
	}
	got.Body, want.Body = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q: %+v; net/http has %+v", came, got, want)
	}
}

// bodyOf is the body without what an exchange does at its end.
func bodyOf(x *Exchange, resp *http.Response) io.Reader {
	if resp.Body == http.NoBody {
		return resp.Body
	}
	return readFunc(func(p []byte) (int, error) {
		n, err := x.wire.Read(p)
		x.left -= int64(n)
		return n, err
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func buffered(br *bufio.Reader) string {
	b, _ := br.Peek(br.Buffered())
	return string(b)
}
