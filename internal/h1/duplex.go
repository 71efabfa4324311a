package h1

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"example.com/connwise/internal/wire"
)

// A duplex sends a request and begins to read its answer in one call to a plain socket. Two
// calls, a Write and a Read, would try to read at once what can't have come yet, and would
// take the descriptor twice. The look at the connection (wire.Request.Look) is a part of it:
// nothing can come between that and the first byte. It comes after the runtime's poller has
// forgotten what it knew of the socket, so what it doesn't find the poller will tell of. Without
// the look a read right behind the write has to do that: what had come before, an early answer or
// an end, would else be waited for in vain, as the poller tells of it once.
type duplex struct {
	step func(fd uintptr) bool // d.stepNow, bound once

	// Of the exchange that has it.
	x       *Exchange
	out, in []byte
	looked  bool
	sent    bool
	wrote   int
	read    int
	err     error // of the write, or once sent is true, of the read
}

var duplexes = sync.Pool{New: func() any {
	d := new(duplex)
	d.step = d.stepNow
	return d
}}

// A Looker looks at a connection's socket. *health.Probe is one.
type Looker interface {
	// Descriptor returns nil if it's no plain socket's.
	Descriptor() syscall.RawConn
	// Glance reports whether nothing has arrived: no byte, and no end. It doesn't wait.
	Glance(fd uintptr) bool
}

// LookBy gives the connection what wire.Request.Look asks for. It's called before the first
// exchange, and returns false if the connection can't look so.
func (c *Conn) LookBy(l Looker) bool {
	switch c.nc.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return false
	}
	if !canDuplex || l.Descriptor() == nil {
		return false
	}
	c.looker = l
	return true
}

var errNotSent = errors.New("h1: the socket doesn't take the request at once")

// begin sends x's request, whole if the socket takes it at once, and then waits for an answer
// and reads the first of it into in. The error is errNotSent if not all was sent: then how much
// was, and what went wrong, is with d.
func (d *duplex) begin(in []byte) (int, error) {
	d.in = in
	if err := d.x.c.looker.Descriptor().Read(d.step); err != nil && d.err == nil {
		d.err = err
	}
	switch {
	case !d.sent:
		return 0, errNotSent
	case d.err != nil:
		return 0, d.x.c.opError("read", d.err)
	case d.read == 0:
		return 0, io.EOF
	}
	return d.read, nil
}

// stepNow is what RawConn.Read calls: at first to begin, and then whenever there may be
// something to read. It returns false to wait for that.
func (d *duplex) stepNow(fd uintptr) bool {
	if d.sent {
		return d.readStep(fd)
	}
	if d.looked = !d.x.req.Look || d.x.c.looker.Glance(fd); !d.looked {
		return true
	}
	n, err := writeNow(fd, d.out)
	if wouldBlock(err) {
		err = nil
	}
	d.wrote, d.err = n, syscallError("write", err)
	if err != nil || n < len(d.out) {
		return true
	}
	d.sent = true
	d.x.sentAll(n)
	d.out = nil
	d.x.dropOut() // the answer may be long in coming
	return !d.x.req.Look && d.readStep(fd)
}

// readStep reads, and returns false if there is nothing yet.
func (d *duplex) readStep(fd uintptr) bool {
	n, err := readNow(fd, d.in)
	if wouldBlock(err) {
		return false
	}
	d.read, d.err = n, syscallError("read", err)
	return true
}

// glance takes the look by itself.
func (c *Conn) glance() (quiet bool) {
	err := c.looker.Descriptor().Control(func(fd uintptr) { quiet = c.looker.Glance(fd) })
	return quiet || err != nil // closed on this side: to write will tell
}

func syscallError(call string, err error) error {
	if err == nil {
		return nil
	}
	return os.NewSyscallError(call, err)
}

// opError makes an error of a socket look as if the connection's Read or Write had returned it.
func (c *Conn) opError(op string, err error) error {
	if o, ok := err.(*net.OpError); ok { // of the RawConn
		err = o.Err
	}
	return &net.OpError{Op: op, Net: c.nc.LocalAddr().Network(), Source: c.nc.LocalAddr(), Addr: c.nc.RemoteAddr(), Err: err}
}

// mergeable reports whether the request goes out with the first read. A trace is told of the
// write before the wait for the answer, and its hooks aren't to be called with the descriptor
// in hand.
func (x *Exchange) mergeable() bool {
	return x.c.looker != nil && x.trace == nil && x.c.opt.WriteStall <= 0
}

// sendMerged writes p, the whole request, and reads the first of the answer.
func (x *Exchange) sendMerged(p []byte) error {
	d := duplexes.Get().(*duplex)
	d.x, d.out = x, p
	x.openReader()
	x.merged = d
	x.br.Peek(1) // an error of the Read comes again in answer
	x.merged = nil
	looked, sent, wrote, err := d.looked, d.sent, d.wrote, d.err
	*d = duplex{step: d.step}
	duplexes.Put(d)
	switch {
	case sent:
		return nil
	case !looked && err == nil:
		return wire.ErrStale
	}
	x.count(wrote)
	if err != nil {
		return x.writeFailed(x.c.opError("write", err))
	}
	return x.sendPlain(p[wrote:])
}
