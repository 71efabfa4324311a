package health

import (
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// errWouldBlock is what a quietConn's Read returns in a look when nothing has arrived.
// crypto/tls keeps an error that is Temporary to itself, together with what it has of a
// record, and reads on the next time; any other error it would make permanent.
var errWouldBlock error = &wouldBlockError{}

type wouldBlockError struct{}

func (*wouldBlockError) Error() string   { return "health: nothing has arrived" }
func (*wouldBlockError) Timeout() bool   { return true }
func (*wouldBlockError) Temporary() bool { return true }

// errStuck is what a quietConn's Write returns in a look when the socket doesn't take
// all at once. The layer writes in a look only to answer a key update or to say why it
// gives up; a peer that asks for that and doesn't read can't be served.
var errStuck = errors.New("health: the peer asks for an answer and reads nothing")

// A quietConn is a socket below a tls.Conn. In a look its Read and Write do not wait.
type quietConn struct {
	net.Conn
	rc      syscall.RawConn
	looking atomic.Bool // read by a Close in another goroutine, which writes a close_notify

	records recordTracker

	// The arguments and results of the callbacks, which are bound once.
	recv, send func(fd uintptr)
	rbuf, wbuf []byte
	n, wn      int
	err, werr  error
}

// newQuietConn returns nil if raw's bytes can't be taken from the socket directly.
func newQuietConn(raw net.Conn) *quietConn {
	var sc syscall.Conn
	switch c := raw.(type) {
	case *net.TCPConn:
		sc = c
	case *net.UnixConn:
		sc = c
	}
	if sc == nil || !canReadQuietly {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	q := &quietConn{Conn: raw, rc: rc}
	q.recv, q.send = q.recvNow, q.sendNow
	return q
}

// look reads from c, which is the tls.Conn over q, without waiting.
func (q *quietConn) look(c *tls.Conn, p []byte) (int, error) {
	q.looking.Store(true)
	defer q.looking.Store(false)
	return c.Read(p)
}

func (q *quietConn) midRecord() bool { return q.records.mid() }

func (q *quietConn) Read(p []byte) (n int, err error) {
	if q.looking.Load() {
		n, err = q.readNow(p)
	} else {
		n, err = q.Conn.Read(p)
	}
	q.records.feed(p[:n])
	return n, err
}

func (q *quietConn) Write(p []byte) (int, error) {
	if q.looking.Load() {
		return q.writeNow(p)
	}
	return q.Conn.Write(p)
}

// A recordTracker follows the boundaries of TLS records in a stream.
type recordTracker struct {
	head int // bytes of the header seen, up to recordHeaderLen
	size int // of the record's rest: known when head is recordHeaderLen
}

// mid reports whether a record has begun and not ended.
func (t *recordTracker) mid() bool { return t.head > 0 }

func (t *recordTracker) feed(p []byte) {
	for len(p) > 0 {
		if t.head < recordHeaderLen {
			t.head++
			switch t.head {
			case recordHeaderLen - 1:
				t.size = int(p[0]) << 8
			case recordHeaderLen:
				t.size |= int(p[0])
			}
			p = p[1:]
		} else {
			n := min(t.size, len(p))
			t.size -= n
			p = p[n:]
		}
		if t.head == recordHeaderLen && t.size == 0 {
			t.head = 0
		}
	}
}
