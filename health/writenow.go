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
	busy  bool       // Flush writes
	kept  []byte     // records that the socket hasn't taken
	first []byte     // what Flush has begun with, and comes before kept
	buf   []byte     // first from its beginning
	err   error      // what the socket said; nothing can be written after that
	whole bool       // no byte of the records that were made since begin has left
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

// maxKeptBuffer is the largest buffer that is used again, in bytes.
const maxKeptBuffer = 512 << 10

var keptBuffers sync.Pool // of *[]byte

var errKept = errors.New("health: the peer makes the TLS layer answer and reads nothing")

// write takes records from the TLS layer. took is false if nothing is in their way and the
// caller is to write them.
func (l *laggard) write(p []byte) (took bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return true, l.err
	case !l.hold && !l.leftLocked():
		return false, nil
	case !l.hold && len(l.kept) > maxKept:
		return true, errKept
	}
	l.kept = append(l.kept, p...)
	return true, nil
}

func (l *laggard) leftLocked() bool { return l.busy || len(l.first)+len(l.kept) > 0 }

// begin has records kept together from now on.
func (l *laggard) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold, l.whole = true, !l.leftLocked()
	if l.kept == nil {
		if b, ok := keptBuffers.Get().(*[]byte); ok {
			l.kept = (*b)[:0]
		}
	}
}

// settle writes what the socket takes of the records. It reports whether some are left.
func (l *laggard) settle() (left bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = false
	if l.err != nil || l.busy || len(l.first) > 0 {
		return l.leftLocked(), l.err
	}
	l.startLocked()
	n, err := l.src.writeNow(l.first)
	if err == errStuck {
		err = nil
	}
	l.whole = l.whole && n == 0
	l.sentLocked(n, err)
	return l.leftLocked(), err
}

// startLocked makes what is kept the next to be written.
func (l *laggard) startLocked() {
	if len(l.first) == 0 {
		l.first, l.buf, l.kept = l.kept, l.kept, nil
	}
}

// sentLocked notes that n bytes have left, and what the socket said then.
func (l *laggard) sentLocked(n int, err error) {
	l.err = err
	if l.first = l.first[n:]; len(l.first) > 0 && err == nil {
		return
	}
	if cap(l.buf) > 0 && cap(l.buf) <= maxKeptBuffer {
		l.buf = l.buf[:0]
		b := l.buf
		keptBuffers.Put(&b)
	}
	l.first, l.buf = nil, nil
}

// flush writes at most limit bytes of what was kept, and waits for that. It reports whether
// more is left.
func (l *laggard) flush(limit int) (left bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startLocked()
	if len(l.first) == 0 || l.err != nil {
		return false, l.err
	}
	p := l.first
	if limit > 0 {
		p = p[:min(len(p), limit)]
	}
	l.busy = true
	l.mu.Unlock()
	_, err = l.raw.Write(p)
	l.mu.Lock()
	l.busy = false
	l.sentLocked(len(p), err)
	return l.leftLocked() && err == nil, err
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

// Flush writes what WriteNow has kept, at most limit bytes of it (zero: no limit), and waits for
// that. left is true if there is more.
func (c *TLSClient) Flush(limit int) (left bool, err error) { return c.lag.flush(limit) }
