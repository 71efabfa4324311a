package h1

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/wire"
)

// A canned is a connection in memory: whatever is written is answered by the same bytes.
type canned struct {
	net.Conn
	answer string
	left   string
}

func (c *canned) Write(p []byte) (int, error) {
	c.left = c.answer
	return len(p), nil
}

func (c *canned) Read(p []byte) (int, error) {
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (*canned) Close() error                     { return nil }
func (*canned) SetDeadline(time.Time) error      { return nil }
func (*canned) SetReadDeadline(time.Time) error  { return nil }
func (*canned) SetWriteDeadline(time.Time) error { return nil }

// requestWith has so many fields of its own, and answerWith is an answer with so many.
func requestWith(fields int) *http.Request {
	req, _ := http.NewRequest("GET", "http://example.com/v1/things/12345?verbose=true", nil)
	for i := range fields {
		req.Header.Set(fmt.Sprintf("X-Field-%d", i), "a value as long as most of them")
	}
	return req
}

func answerWith(fields int) string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")
	for i := range fields - 1 {
		fmt.Fprintf(&b, "X-Field-%d: a value as long as most of them\r\n", i)
	}
	b.WriteString("\r\nok")
	return b.String()
}

// BenchmarkWriteHead is what it costs to write a request's head, by how many fields it has
// beside those that every head has.
func BenchmarkWriteHead(b *testing.B) {
	for _, n := range []int{1, 5, 20} {
		b.Run(fmt.Sprintf("fields=%d", n), func(b *testing.B) {
			r := wire.Request{Request: requestWith(n), Gzip: true}
			f, err := frame(&r)
			if err != nil {
				b.Fatal(err)
			}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				if buf, err = appendHead(buf[:0], &r, f, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkExchange is a GET and its answer, read to the end, over a connection that costs
// nothing: by how many fields the answer has.
func BenchmarkExchange(b *testing.B) {
	for _, n := range []int{1, 5, 20} {
		b.Run(fmt.Sprintf("fields=%d", n), func(b *testing.B) {
			c := NewConn(&canned{answer: answerWith(n)}, &Options{})
			defer c.Close()
			req := requestWith(1)
			p := make([]byte, 64)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := new(Exchange).Start(c, wire.Request{Request: req}, nobody{})
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = resp.Body.Read(p)
				}
				if len(resp.Header) != n {
					b.Fatalf("%d fields, want %d", len(resp.Header), n)
				}
			}
		})
	}
}
