package oracle

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	idleSpan    = 4 * time.Millisecond
	headSpan    = 150 // bytes, less than any request's head
	handshaking = 5 * time.Second
)

var errBurnt = errors.New("oracle: the fuse has burnt")

// An h1conn serves a connection over HTTP/1.1.
type h1conn struct {
	*port
	sock *sock
	nc   net.Conn
	br   *bufio.Reader
	rng  *rand.Rand

	fuse int64    // so many bytes are read yet; negative: there is no limit
	got  bool     // bytes of the request have come
	now  *arrival // the request, once its head has come
}

func (p *port) serveH1(s *sock, rng *rand.Rand) {
	c := &h1conn{port: p, sock: s, nc: s, rng: rng, fuse: -1}
	if p.tls != nil {
		t := tls.Server(s, p.tls)
		_ = s.SetDeadline(time.Now().Add(handshaking))
		if t.Handshake() != nil {
			return
		}
		_ = s.SetDeadline(time.Time{})
		c.nc = t
	}
	c.br = bufio.NewReader(c)
	for c.await() && c.exchange() {
	}
}

// Read reads for br, as far as the fuse allows. A client doesn't send a request behind another
// one before that is answered, so what is read belongs to the request.
func (c *h1conn) Read(b []byte) (int, error) {
	if c.fuse == 0 {
		return 0, errBurnt
	}
	if c.fuse > 0 {
		b = b[:min(int64(len(b)), c.fuse)]
	}
	n, err := c.nc.Read(b)
	c.got = c.got || n > 0
	if c.fuse > 0 {
		c.fuse -= int64(n)
	}
	if err != nil && isEnd(err) {
		if c.got && c.now == nil {
			c.sock.link.noteLoose()
		}
		c.sock.link.noteEnd()
	}
	return n, err
}

// await waits for a request, maybe not for long. It reports whether one has begun.
func (c *h1conn) await() bool {
	c.got, c.now, c.fuse = false, nil, -1
	f := draw(c.rng, idleFates)
	if f != fateStay {
		_ = c.sock.SetReadDeadline(time.Now().Add(span(c.rng, idleSpan)))
	}
	_, err := c.br.Peek(1)
	_ = c.sock.SetReadDeadline(time.Time{})
	if err == nil {
		return true
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		c.notes.count(f)
		how := drawStyle(c.rng)
		if f == fateIdle408 {
			_, _ = io.WriteString(c.nc, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			how = styleFIN
		}
		c.lose(how)
	}
	return false
}

func (c *h1conn) meet(f fate) { c.notes.meet(c.now, f) }

// lose closes the connection. It returns false, as the connection doesn't go on.
func (c *h1conn) lose(how style) bool {
	if c.got && c.now == nil {
		c.sock.link.noteLoose()
	}
	c.sock.shut(c.nc, how)
	return false
}

// exchange reads a request and meets it with its fate. It reports whether the connection goes on.
func (c *h1conn) exchange() bool {
	f := draw(c.rng, h1Fates)
	switch f {
	case fateFirstByte:
		c.fuse = int64(c.rng.IntN(2)) // the buffer has one byte at least
	case fateInHead:
		c.fuse = int64(c.rng.IntN(headSpan))
	}
	if c.fuse >= 0 {
		c.notes.count(f)
		_, _ = http.ReadRequest(c.br)
		return c.lose(drawStyle(c.rng))
	}
	req, err := http.ReadRequest(c.br)
	if err != nil {
		return c.lose(styleRST)
	}
	id, _ := strconv.Atoi(req.Header.Get(headerID))
	attempt, _ := strconv.Atoi(req.Header.Get(headerAttempt))
	c.now = c.notes.arrive(id, attempt, c.sock.link, 0)
	return c.body(req, f) && c.end(req, f)
}

// body reads the body, and reports whether it came whole.
func (c *h1conn) body(req *http.Request, f fate) bool {
	if req.ContentLength == 0 {
		return true
	}
	switch f {
	case fateEarly:
		c.meet(f)
		c.now.told = true
		_, _ = io.WriteString(c.nc, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return c.lose(drawStyle(c.rng))
	case fateInBody, fateRunInBody:
		c.meet(f)
		if f == fateRunInBody {
			c.now.execute()
		}
		c.fuse = int64(c.rng.IntN(int(max(req.ContentLength, 1))))
	}
	if req.Header.Get("Expect") != "" && (!inBody(f) || c.rng.IntN(2) == 0) {
		c.now.told = true
		_, _ = io.WriteString(c.nc, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	b, err := io.ReadAll(req.Body)
	if err != nil || inBody(f) {
		return c.lose(drawStyle(c.rng))
	}
	if !rightBody(b, req.Header.Get(headerBody)) {
		c.now.spoil()
	}
	return true
}

// inBody tells whether a request is lost before its body has come whole.
func inBody(f fate) bool { return f == fateInBody || f == fateRunInBody }

// end executes and answers a request that has come whole, or doesn't. It reports whether the
// connection goes on.
func (c *h1conn) end(req *http.Request, f fate) bool {
	if inBody(f) || f == fateEarly { // there was none
		f = fateAnswer
	}
	c.meet(f)
	if f == fateHintBefore || f == fateHintAfter {
		c.now.told = true
		_, _ = io.WriteString(c.nc, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
	}
	if f == fateBefore || f == fateHintBefore {
		return c.lose(drawStyle(c.rng))
	}
	c.now.execute()
	if f == fateAfter || f == fateHintAfter {
		return c.lose(drawStyle(c.rng))
	}
	b := c.answer(req, f == fateLast)
	if f == fateHalf {
		b = b[:c.rng.IntN(len(b))]
	}
	_, err := c.nc.Write(b)
	if err != nil || f != fateAnswer {
		return c.lose(drawStyle(c.rng))
	}
	return true
}

func (c *h1conn) answer(req *http.Request, last bool) []byte {
	text := answerText(req.Header.Get(headerID))
	b := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\n%s: %s\r\nContent-Length: %d\r\n", headerID, req.Header.Get(headerID), len(text))
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	if req.Method != http.MethodHead {
		b = append(b, text...)
	}
	return b
}
