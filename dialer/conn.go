package dialer

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// A Conn is a connection made by DialContext. It counts what passes, and knows when. Its
// counters may be read by any goroutine at any time.
//
// It has no ReadFrom: the kernel would tell how much it sent only afterwards, and
// BytesWritten would be too low in between.
type Conn struct {
	net.Conn
	opened        time.Time
	read, written atomic.Int64
	// Nanoseconds since opened, plus one; zero: never.
	lastRead, lastWrite atomic.Int64
}

func newConn(c net.Conn) *Conn { return &Conn{Conn: c, opened: time.Now()} }

func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.read.Add(int64(n))
		c.lastRead.Store(int64(time.Since(c.opened)) + 1)
	}
	return n, err
}

// Write counts p before it is written and takes back what wasn't accepted, so that
// BytesWritten is never too low while bytes may be on their way.
func (c *Conn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	if n < len(p) {
		c.written.Add(int64(n - len(p)))
	}
	if n > 0 {
		c.lastWrite.Store(int64(time.Since(c.opened)) + 1)
	}
	return n, err
}

// BytesRead returns how many bytes Read has returned.
func (c *Conn) BytesRead() int64 { return c.read.Load() }

// BytesWritten returns how many bytes were accepted. During a Write it has all of its bytes
// already.
func (c *Conn) BytesWritten() int64 { return c.written.Load() }

// Opened returns when the connection was made.
func (c *Conn) Opened() time.Time { return c.opened }

// LastRead returns when Read last returned bytes; the zero Time if never.
func (c *Conn) LastRead() time.Time { return c.at(&c.lastRead) }

// LastWrite returns when Write last accepted bytes; the zero Time if never.
func (c *Conn) LastWrite() time.Time { return c.at(&c.lastWrite) }

func (c *Conn) at(v *atomic.Int64) time.Time {
	if ns := v.Load(); ns > 0 {
		return c.opened.Add(time.Duration(ns - 1))
	}
	return time.Time{}
}

// NetConn returns the connection below, a *net.TCPConn or *net.UnixConn.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// CloseWrite sends a FIN and leaves the other direction open.
func (c *Conn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SyscallConn gives access to the socket. What is read or written there isn't counted.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
