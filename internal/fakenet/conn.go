package fakenet

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A Conn is one end of a connection in memory. All methods may be called concurrently.
type Conn struct {
	in, out       *stream
	local, remote net.Addr
	closed        chan struct{}
	isClosed      atomic.Bool
	deaf          atomic.Bool // ignores deadlines
}

var _ net.Conn = (*Conn)(nil)

// ports numbers the clients' ends.
var ports atomic.Uint32

// Pipe returns both ends of a connection. Each direction holds 256 KiB unread.
func Pipe() (client, server *Conn) {
	up, down := newStream(), newStream()
	n := ports.Add(1)
	here := &net.TCPAddr{IP: net.IPv4(10, byte(n>>24), byte(n>>16), 1), Port: int(n&0xffff) + 1}
	there := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 80}
	client = &Conn{in: down, out: up, local: here, remote: there, closed: make(chan struct{})}
	server = &Conn{in: up, out: down, local: there, remote: here, closed: make(chan struct{})}
	return client, server
}

// Read reads what the other end wrote. It blocks until there is something.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

// Write blocks while the other end's buffer is full. The count is exact.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p, c.reflectReset)
	return n, c.wrap("write", err)
}

// reflectReset is the RST that bytes to a closed end are answered with. Behind a FIN
// reads don't see it.
func (c *Conn) reflectReset() {
	c.out.change(func() { c.out.reset = errReset("write") })
	c.in.change(func() {
		if !c.in.fin {
			c.in.reset = errReset("read")
		}
	})
}

// Close closes this end: pending calls on it fail with net.ErrClosed. The other end
// can read what was sent, and then gets EOF, or ECONNRESET if bytes were left unread
// here. A second Close returns net.ErrClosed.
func (c *Conn) Close() error {
	if !c.isClosed.CompareAndSwap(false, true) {
		return c.wrap("close", net.ErrClosed)
	}
	close(c.closed) // before anything can be seen of it
	unread := false
	c.in.change(func() {
		unread = len(c.in.buf) > 0
		c.in.rgone, c.in.buf = true, nil
	})
	if unread {
		c.in.change(func() { c.in.reset = errReset("write") })
		c.out.change(func() { c.out.reset = errReset("read") })
	}
	c.out.change(func() { c.out.fin, c.out.wgone = true, true })
	return nil
}

// CloseWrite sends a FIN: the other end reads EOF, and this end can read on.
func (c *Conn) CloseWrite() error {
	c.out.change(func() { c.out.fin = true })
	return nil
}

// Reset closes this end with an RST. The other end's calls fail with ECONNRESET or
// EPIPE, except that what has arrived there can be read.
func (c *Conn) Reset() {
	c.in.change(func() { c.in.reset = errReset("write") })
	c.out.change(func() { c.out.reset = errReset("read") })
	c.Close()
}

// Closed returns a channel that is closed with this end.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// SetBuffer sets how many bytes of this end's the other end holds unread, before Write
// blocks. With zero every Write blocks until it is raised, or the end comes.
func (c *Conn) SetBuffer(n int) { c.out.change(func() { c.out.max = n }) }

// Unread returns how many bytes have arrived at this end and weren't read.
func (c *Conn) Unread() int {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return len(c.in.buf)
}

// FailWriteAfter makes this end accept n more bytes, and fail with err at the next.
func (c *Conn) FailWriteAfter(n int, err error) {
	c.out.change(func() { c.out.accept, c.out.fault = n, err })
}

// IgnoreDeadlines makes this end's deadlines have no effect, like those of some
// net.Conns in the field.
func (c *Conn) IgnoreDeadlines() { c.deaf.Store(true) }

// LocalAddr returns an address that is this end's alone.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the other end's address.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads fail with os.ErrDeadlineExceeded from t on. Zero: never.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if !c.deaf.Load() {
		c.in.set(&c.in.rlimit, t)
	}
	return nil
}

// SetWriteDeadline makes writes fail with os.ErrDeadlineExceeded from t on. Zero: never.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if !c.deaf.Load() {
		c.out.set(&c.out.wlimit, t)
	}
	return nil
}

func errReset(call string) error { return os.NewSyscallError(call, syscall.ECONNRESET) }

// wrap makes of err what package net would return. EOF stays.
func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}
