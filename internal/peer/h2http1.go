package peer

import (
	"bufio"
	"fmt"

	"golang.org/x/net/http2/hpack"
)

// serveHTTP1 answers the requests of a connection for which ALPN didn't choose HTTP/2.
func (c *H2Conn) serveHTTP1() {
	c.srv.book.note(c, func(r *H2ConnReport) { r.Proto = "http/1.1" })
	br := bufio.NewReaderSize(c.rw, bufferSize)
	for {
		q, err := readHead(br)
		if err != nil || q.readBody(br) != nil {
			return
		}
		c.srv.oracle.execute(q.id)
		c.srv.oracle.body(&q.body, q.post, c.srv.plan.Load().Upload)
		c.srv.book.note(c, func(r *H2ConnReport) { r.Received++ })
		c.srv.book.executed(c)
		if !c.srv.pause(c.srv.plan.Load().Delay) || c.answerHTTP1(q) != nil || q.close {
			return
		}
	}
}

func (c *H2Conn) answerHTTP1(q request) error {
	as := &H2Request{ID: q.id}
	if q.head {
		as.Fields = []hpack.HeaderField{{Name: ":method", Value: "HEAD"}}
	}
	body := c.srv.body(as)
	b := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\n%s: %d\r\nContent-Length: %d\r\n\r\n", HeaderID, q.id, len(body))
	if !q.head {
		b = append(b, body...)
	}
	_, err := c.rw.Write(b)
	return err
}
