package peer

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// bufferSize is a connection's read buffer: the longest header line, too.
const bufferSize = 8 << 10

type connState uint8

const (
	stateIdle   connState = iota // no byte of a request seen
	stateBusy                    // between a request's first byte and its answer's last
	stateClosed                  // somebody closed it, or is about to
)

// A conn serves one connection in its own goroutine.
type conn struct {
	srv *Server
	raw *net.TCPConn
	tls *tls.Conn // nil without TLS
	rw  net.Conn  // tls or raw
	br  *bufio.Reader
	out []byte
	num int // in the order of acceptance, from 0

	mu       sync.Mutex
	state    connState
	last     Style // not empty: close in this style behind the next answer
	requests int   // executed; written by serve's goroutine alone
}

func newConn(s *Server, raw *net.TCPConn, num int) *conn {
	c := &conn{srv: s, raw: raw, rw: raw, num: num}
	if s.tls != nil {
		c.tls = tls.Server(raw, s.tls)
		c.rw = c.tls
	}
	c.br = bufio.NewReaderSize(c.rw, bufferSize)
	return c
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	defer c.close(BareFIN)
	if c.tls != nil && c.tls.Handshake() != nil {
		return
	}
	for c.await() && c.exchange() {
	}
}

// await waits for a request's first byte. It reports false when the connection
// ended or has been idle for long enough.
func (c *conn) await() bool {
	if p := c.srv.plan.Load(); p.IdleTimeout > 0 && c.requests > 0 {
		_ = c.raw.SetReadDeadline(time.Now().Add(p.IdleTimeout))
		defer c.raw.SetReadDeadline(time.Time{})
	}
	if _, err := c.br.Peek(1); err != nil {
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			c.expire(c.srv.plan.Load().Style)
		}
		return false
	}
	return c.enter(stateIdle, stateBusy)
}

// expire ends a connection that has been idle for long enough.
func (c *conn) expire(s Style) {
	if s == Silence {
		_ = c.raw.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, c.raw) // not c.tls: it would answer
		s = BareFIN                       // the client has closed
	}
	c.close(s)
}

// exchange reads a request, executes it and answers. It reports whether the
// connection goes on.
func (c *conn) exchange() bool {
	q, err := c.read()
	if err != nil {
		if errors.Is(err, errBadRequest) {
			_, _ = c.rw.Write([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
			c.close(FIN)
		}
		return false
	}
	cut := c.srv.takeCut(q)
	if cut.At == CutBefore {
		c.close(cut.Style)
		return false
	}
	c.execute(q)
	p := c.srv.plan.Load()
	if !c.srv.pause(p.Delay) || cut.At == CutAfter {
		c.close(cut.Style)
		return false
	}
	return c.reply(p, q, cut)
}

func (c *conn) read() (request, error) {
	q, err := readHead(c.br)
	if err != nil {
		return q, err
	}
	if q.expect && q.length != 0 {
		if _, err := c.rw.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); err != nil {
			return q, err
		}
	}
	return q, q.readBody(c.br)
}

func (c *conn) execute(q request) {
	c.srv.oracle.execute(q.id)
	c.srv.oracle.body(&q.body, q.post, c.srv.plan.Load().Upload)
	c.mu.Lock()
	c.requests++
	first := c.requests == 1
	c.mu.Unlock()
	if first {
		c.srv.used.Add(1)
	}
}

// reply writes the answer, or the half of it, and closes the connection where its
// time has come. What decides is settled before the first byte: once a client has
// its answer, its next request could cross a close that is decided later.
func (c *conn) reply(p *plan, q request, cut Cut) bool {
	end, announce := c.ending(p, q)
	var rest []byte
	c.out, rest = p.answer(c.out[:0], q, announce)
	if cut.At != "" {
		n := cut.length(c.out, rest)
		_ = c.write(c.out[:min(n, len(c.out))], rest[:max(0, n-len(c.out))])
		c.close(cut.Style)
		return false
	}
	if end != "" && end != RST {
		cork(c.raw)
	}
	if c.write(c.out, rest) != nil {
		return false
	}
	if end != "" {
		c.close(end)
		return false
	}
	return c.enter(stateBusy, stateIdle)
}

// write writes an answer, the rest of its body behind it.
func (c *conn) write(out, rest []byte) error {
	_, err := c.rw.Write(out)
	if err == nil && len(rest) > 0 {
		_, err = c.rw.Write(rest)
	}
	return err
}

// ending returns the style in which to close behind this answer, empty for not
// at all, and whether the answer says so.
func (c *conn) ending(p *plan, q request) (end Style, announce bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case q.close:
		return FIN, true
	case c.last != "":
		return c.last, false
	case p.MaxRequests > 0 && c.requests >= p.MaxRequests:
		return p.Style, p.Announce && (p.Unannounced == 0 || (c.num+1)%p.Unannounced != 0)
	}
	return "", false
}

// enter goes from one state to the next; false: the connection was dropped.
func (c *conn) enter(from, to connState) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != from {
		return false
	}
	c.state = to
	return true
}

// drop does what d says to this connection, and reports whether it did.
func (c *conn) drop(d Drop) bool {
	if !d.Busy {
		return c.enter(stateIdle, stateClosed) && c.shut(d.Style)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == stateClosed {
		return false
	}
	c.last = d.Style
	return true
}

// close closes the connection once; later calls do nothing.
func (c *conn) close(s Style) {
	c.mu.Lock()
	closed := c.state == stateClosed
	c.state = stateClosed
	c.mu.Unlock()
	if !closed {
		c.shut(s)
	}
}

// shut closes the socket. The caller has set stateClosed. When it returns, the
// FIN or RST has been handed to the system's network layer.
func (c *conn) shut(s Style) bool {
	switch {
	case s == RST:
		_ = c.raw.SetLinger(0)
	case s != BareFIN && c.tls != nil:
		_ = c.tls.Close() // close_notify, and the socket
	}
	_ = c.raw.Close()
	return true
}
