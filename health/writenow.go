package health

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// A laggard has the records that a TLSClient's WriteNow made and the socket didn't take at
// once. crypto/tls must have a Write that takes everything: after one that doesn't, the
// connection is broken.
type laggard struct {
	raw net.Conn
	src source

	mu    sync.Mutex // guards the following; no call that waits is made under it
	hold  bool       // WriteNow runs: records are kept together
	busy  bool       // Flush writes what was kept before
	kept  []byte     // records; the socket hasn't taken those behind the first at bytes
	at    int
	err   error // what the socket said; nothing can be written after that
	whole bool  // no byte of the records that were made since take has left
}

// newLaggard returns nil if q isn't over a socket.
func newLaggard(q *quietConn) *laggard {
	switch q.Conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		q.lag = &laggard{raw: q.Conn, src: newSocket(q.Conn.(syscall.Conn))}
	}
	return q.lag
}

// maxKept bounds what the TLS layer's own words (answers to key updates, alerts) may add while
// the peer takes nothing, in bytes.
const maxKept = 1 << 20

// flushPiece is how much Flush writes at a time.
const flushPiece = 16 << 10

var errKept = errors.New("health: the peer makes the TLS layer answer and reads nothing")

// write takes records from the TLS layer. took is false if nothing is in their way and the
// caller is to write them.
func (l *laggard) write(p []byte) (took bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return true, l.err
	case !l.hold && !l.busy && len(l.kept) == 0:
		return false, nil
	case !l.hold && len(l.kept)-l.at > maxKept:
		return true, errKept
	}
	l.kept = append(l.kept, p...)
	return true, nil
}

// settle writes what the socket takes of the records. It reports whether some are left.
func (l *laggard) settle() (left bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = false
	if l.err != nil || l.busy || len(l.kept) == 0 {
		return len(l.kept) > 0, l.err
	}
	n, err := l.src.writeNow(l.kept[l.at:])
	if err == errStuck {
		err = nil
	}
	l.whole = l.whole && n == 0
	l.dropLocked(n)
	l.err = err
	return len(l.kept) > 0, err
}

// dropLocked forgets n more bytes. A large buffer isn't kept when it's empty.
func (l *laggard) dropLocked(n int) {
	if l.at += n; l.at < len(l.kept) {
		return
	}
	l.at = 0
	if b := l.kept[:0]; cap(b) > 0 && cap(b) <= maxPooled {
		keptBuffers.Put(&b) // of a copy: the field is this connection's alone
	}
	l.kept = nil
}

// maxPooled is the largest buffer that is used again.
const maxPooled = 512 << 10

var keptBuffers sync.Pool // of *[]byte

// begin has records kept together from now on.
func (l *laggard) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold, l.whole = true, len(l.kept) == 0
	if l.kept == nil {
		if b, ok := keptBuffers.Get().(*[]byte); ok {
			l.kept = (*b)[:0]
		}
	}
}

// flush writes a piece of what was kept, and waits for that. It reports whether more is left.
func (l *laggard) flush() (left bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 || l.err != nil {
		return false, l.err
	}
	piece := l.kept[l.at:min(len(l.kept), l.at+flushPiece)] // what is added comes behind it
	l.busy = true
	l.mu.Unlock()
	_, err = l.raw.Write(piece)
	l.mu.Lock()
	l.busy = false
	l.dropLocked(len(piece))
	l.err = err
	return len(l.kept) > 0 && err == nil, err
}

// WritesNow reports whether WriteNow can be used: if the connection below is a socket of the
// kernel's.
func (c *TLSClient) WritesNow() bool { return c.lag != nil }

// WriteNow is Write for somebody who must not wait. All of p is encrypted. What the socket
// doesn't take at once is kept; then left is true, and Flush is to be called before the next
// WriteNow. n is len(p), unless it's certain that no byte has left: then it's zero.
func (c *TLSClient) WriteNow(p []byte) (n int, left bool, err error) {
	c.lag.begin()
	n, err = c.conn.Write(p)
	left, lost := c.lag.settle()
	if err == nil {
		err = lost
	}
	if err != nil {
		n = len(p)
		if c.lag.whole {
			n = 0
		}
	}
	return n, left && err == nil, err
}

// Flush writes a piece of what WriteNow has kept, at most 16 KiB, and waits for that. left is
// true if there is more.
func (c *TLSClient) Flush() (left bool, err error) { return c.lag.flush() }
