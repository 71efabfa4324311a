package peer

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	h2Frame     = 16 << 10 // the largest frame that is sent, SETTINGS_MAX_FRAME_SIZE's default
	h2Window    = 1<<16 - 1
	h2MaxFields = 64 << 10 // bounds a request's header list
)

// An H2Conn is one HTTP/2 connection, for one goroutine that reads and any that write.
//
// Read takes frame after frame and keeps the books: open streams, windows, what the
// client did against the protocol. It sends nothing. Respond sends what the protocol asks
// of a server: the acknowledgements of SETTINGS and PING, and credit for DATA. Request,
// Answer and Serve are made of these. All writes leave at once, except in Serve, which
// collects what answers a batch of frames.
type H2Conn struct {
	Num int // in the order of acceptance, from 0

	srv    *H2Server
	report *H2ConnReport // srv.book's
	raw    net.Conn
	rw     net.Conn // TLS or TCP
	fr     *http2.Framer
	ending sync.Once

	mu      sync.Mutex // guards what follows; held while writing, never while reading
	serving bool       // in Serve
	begun   bool       // its first SETTINGS are out
	most    int        // streams at a time, as it says in SETTINGS; zero: any number
	lazy    bool       // writes stay in bw until the goroutine that reads has nothing to read
	bw      *bufio.Writer
	enc     *hpack.Encoder
	block   bytes.Buffer // enc's
	streams h2Streams
	leave   h2Leave
	strikes h2Strikes
}

func newH2Conn(s *H2Server, raw net.Conn, num int) *H2Conn {
	c := &H2Conn{Num: num, srv: s, raw: raw, rw: raw}
	if s.tls != nil {
		c.rw = tls.Server(raw, s.tls)
	}
	return c
}

// open makes the handshake, if there is one, and reports whether it came out as HTTP/2.
func (c *H2Conn) open() (h2 bool, err error) {
	t, ok := c.rw.(*tls.Conn)
	if !ok {
		return true, nil
	}
	if err := t.Handshake(); err != nil {
		return false, err
	}
	return t.ConnectionState().NegotiatedProtocol == http2.NextProtoTLS, nil
}

// start prepares for frames.
func (c *H2Conn) start() {
	c.bw = bufio.NewWriterSize(c.rw, 2*h2Frame)
	c.fr = http2.NewFramer(c.bw, bufio.NewReaderSize(h2Reader{c}, bufferSize))
	c.fr.AllowIllegalWrites = true
	c.fr.MaxHeaderListSize = h2MaxFields
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.enc = hpack.NewEncoder(&c.block)
	c.streams.init()
	c.srv.book.note(c, func(r *H2ConnReport) { r.Proto = http2.NextProtoTLS })
}

// An h2Reader reads the connection once everything is written.
type h2Reader struct{ c *H2Conn }

func (r h2Reader) Read(p []byte) (int, error) {
	if err := r.c.flush(); err != nil {
		return 0, err
	}
	return r.c.rw.Read(p)
}

func (c *H2Conn) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bw.Flush()
}

// preface reads the client's connection preface, the first thing that it sends.
func (c *H2Conn) preface() error {
	b := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.rw, b); err != nil {
		return err
	}
	if string(b) != http2.ClientPreface {
		err := fmt.Errorf("peer: connection preface %q", b)
		c.srv.book.violated(c, err.Error())
		return err
	}
	return nil
}

// Read returns the client's next frame. What the client sends against RFC 9113 is
// noted in the report; what the framer can't read ends in an error.
func (c *H2Conn) Read() (*H2Frame, error) {
	fr, err := c.fr.ReadFrame()
	if err != nil {
		if unreadable(err) {
			c.srv.book.violated(c, fmt.Sprintf("%v: %v", err, c.fr.ErrorDetail()))
		}
		return nil, err
	}
	f := newH2Frame(fr)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(f)
	return f, nil
}

// unreadable reports whether err is a framer's about what it read.
func unreadable(err error) bool {
	_, conn := errors.AsType[http2.ConnectionError](err)
	_, stream := errors.AsType[http2.StreamError](err)
	return conn || stream || errors.Is(err, http2.ErrFrameTooLarge)
}

// NetConn returns the connection as the server accepted it, below TLS.
func (c *H2Conn) NetConn() net.Conn { return c.raw }

// Done is closed when the server is told to end, for scripts that read nothing.
func (c *H2Conn) Done() <-chan struct{} { return c.srv.done }

// Drain reads and drops what the client sends until it closes, and answers nothing. To
// the client the connection is silent, while its bytes are acknowledged by TCP.
func (c *H2Conn) Drain() { _, _ = io.Copy(io.Discard, c.rw) }

// Linger closes the sending side and reads until the client closes too. A Close while
// bytes of the client's are on their way would turn into a reset, which takes what was
// sent last away from the client.
func (c *H2Conn) Linger() {
	c.closeWrite()
	c.Drain()
}

func (c *H2Conn) closeWrite() {
	_ = c.flush()
	c.sendFIN(FIN)
}

// CloseNotify says over TLS that nothing more will be sent, and leaves the socket open, as
// some proxies do for seconds. Without TLS it does nothing.
func (c *H2Conn) CloseNotify() {
	if t, ok := c.rw.(*tls.Conn); ok {
		_ = c.flush()
		_ = t.CloseWrite()
	}
}

// sendFIN closes the sending side alone.
func (c *H2Conn) sendFIN(s Style) {
	if t, ok := c.rw.(*tls.Conn); ok && s != BareFIN {
		_ = t.CloseWrite() // a close_notify
	}
	if hc, ok := c.raw.(interface{ CloseWrite() error }); ok {
		_ = hc.CloseWrite()
	}
}

// Close closes the connection, once. A connection whose script returns is closed with a bare FIN.
func (c *H2Conn) Close(s Style) {
	c.ending.Do(func() {
		switch t, ok := c.rw.(*tls.Conn); {
		case s == RST:
			reset(c.raw)
		case s != BareFIN && ok:
			_ = t.Close() // close_notify, and the socket
		}
		_ = c.raw.Close()
	})
}

// reset makes the close of a socket, or of a connection in memory, a reset.
func reset(nc net.Conn) {
	switch nc := nc.(type) {
	case *net.TCPConn:
		_ = nc.SetLinger(0)
	case interface{ Reset() }:
		nc.Reset()
	}
}

// quietFor sets when the goroutine that reads gives up; zero: never.
func (c *H2Conn) quietFor(d time.Duration) {
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	_ = c.raw.SetReadDeadline(t)
}
