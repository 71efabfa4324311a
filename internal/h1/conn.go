package h1

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"example.com/connwise/internal/wire"
)

// Options are shared by all connections of a transport. A Conn keeps the pointer;
// nobody changes what it points to.
type Options struct {
	// MaxHeaderBytes bounds an answer's head, with the interim answers before it that
	// no hook was given. Zero: 10 MiB.
	MaxHeaderBytes int64
	// HeaderTimeout is how long an answer's head may take once the whole request has
	// been written. Zero: no limit.
	HeaderTimeout time.Duration
	// ContinueTimeout is how long a body with "Expect: 100-continue" waits for the
	// peer's word. Zero: it doesn't wait.
	ContinueTimeout time.Duration
	// WriteStall ends an exchange when the connection takes nothing of a piece of at
	// most 16 KiB for so long. Zero: no limit.
	WriteStall time.Duration
	// ReadStall ends an exchange when a Read of the answer's body gets no byte for so
	// long. Zero: no limit.
	ReadStall time.Duration
	// ReadBufferSize and WriteBufferSize are in bytes. Zero: 4096. A streamed body has
	// a buffer of 32 KiB, or WriteBufferSize if that is larger.
	ReadBufferSize, WriteBufferSize int
}

var errConnBusy = errors.New("h1: the connection has an exchange already")

// closeNotifyTime bounds the courtesy of a TLS close_notify alert when a healthy
// connection is closed: the peer's window may be shut.
const closeNotifyTime = 50 * time.Millisecond

// A Conn is a connection that carries one exchange after the other. Its methods may
// be called from any goroutine.
type Conn struct {
	nc  net.Conn
	raw net.Conn // what is under nc's layers; nc itself where there is none
	opt *Options

	top    net.Conn // nc, without what only reads ahead of it (Reader)
	looker Looker   // nil where a request and its answer take two calls
	layers int      // from top to raw. Counted, since a caller's type may not allow to compare them.

	once sync.Once // closes nc

	mu     sync.Mutex // guards the following
	busy   bool       // an exchange is under way
	closed bool
}

// NewConn makes a Conn of nc, whose handshake is over, and owns nc from now on.
func NewConn(nc net.Conn, opt *Options) *Conn {
	c := &Conn{nc: nc, top: nc, opt: opt}
	if r, ok := nc.(Reader); ok {
		c.top = r.Reads()
	}
	c.raw, c.layers = wire.Bottom(c.top)
	return c
}

// A Reader is a connection that does no more for another one than read from it. Whatever
// isn't a Read or a Write goes past it.
type Reader interface {
	net.Conn
	Reads() net.Conn
}

// Close closes the connection. An exchange under way fails. Without one a TLS
// connection gets a close_notify alert, for which Close waits at most 50 ms if the
// peer's window is shut, or its type's Close is slow. Later calls do nothing but wait for the
// first.
func (c *Conn) Close() error {
	c.mu.Lock()
	busy := c.busy
	c.mu.Unlock()
	return c.shut(!busy)
}

// kill closes the connection without a word, so that every Read and Write on it ends.
func (c *Conn) kill() { c.shut(false) }

// finish closes a connection whose last exchange is over and well.
func (c *Conn) finish() { c.shut(true) }

func (c *Conn) shut(polite bool) (err error) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	end := c.cut
	if polite {
		end = c.part
	}
	c.once.Do(func() { err = c.bounded(end) })
	return err
}

// bounded calls end, which closes the connection. A socket's Close doesn't wait. That of
// somebody else's connection may, and is given 50 ms; it goes on behind the caller's back.
func (c *Conn) bounded(end func() error) error {
	switch c.raw.(type) {
	case *net.TCPConn, *net.UnixConn:
		return end()
	}
	done := make(chan error, 1)
	go func() { done <- end() }()
	t := time.NewTimer(closeNotifyTime)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return errSlowClose
	}
}

var errSlowClose = errors.New("h1: the connection's Close takes long")

func (c *Conn) cut() error { return wire.Cut(c.top, c.raw, c.layers) }

func (c *Conn) part() error {
	if c.layers == 0 {
		return c.top.Close()
	}
	t := time.AfterFunc(closeNotifyTime, func() { c.raw.Close() })
	defer t.Stop()
	return c.top.Close()
}

// truncated reports whether a TLS layer that can tell met the connection's end without a
// close_notify.
func (c *Conn) truncated() bool {
	t, ok := c.top.(interface{ Truncated() bool })
	return ok && t.Truncated()
}

// begin takes the connection for an exchange.
func (c *Conn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return fmt.Errorf("h1: the connection is closed already: %w", net.ErrClosed)
	case c.busy:
		return errConnBusy
	}
	c.busy = true
	return nil
}

func (c *Conn) end() {
	c.mu.Lock()
	c.busy = false
	c.mu.Unlock()
}
