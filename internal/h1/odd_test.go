package h1

import (
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

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
		var bad *wire.AnswerError
		if err := a.fails(); !errors.As(err, &bad) {
			t.Errorf("%q: err = %v, want an wire.AnswerError", answer, err)
		}
		a.wantFacts(wire.Facts{Sent: int64(len(getHead)), AllSent: true, Answered: true})
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
		a.wantEnd(wire.EndError)
		if _, again := a.resp.Body.Read(make([]byte, 9)); again != err {
			t.Errorf("%.60q: second Read %v, want %v", answer, again, err)
		}
		a.resp.Body.Close()
		r.wantClosed()
	}
}
