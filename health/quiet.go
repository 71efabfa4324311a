package health

import (
	"crypto/tls"
	"errors"
	"io"
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
// all of it at once. The layer writes in a look only to answer a key update or to say why it
// gives up; a peer that asks for that and doesn't read can't be served.
var errStuck = errors.New("health: the peer asks for an answer and reads nothing")

// A source can be read and written without waiting: a socket, or the TLS connection with
// an https proxy, which has another one inside.
type source interface {
	// readNow returns what has arrived; errWouldBlock if nothing has.
	readNow(p []byte) (int, error)
	// writeNow sends all of p or fails.
	writeNow(p []byte) (int, error)
	// idle reports whether nothing has arrived: no byte, and no end. False is no proof. An
	// error is the connection's, which the kernel tells only once.
	idle() (bool, error)
	// midRecord reports whether a part of a record was read, at this layer or below.
	midRecord() bool
}

// A bottom is the connection below a tls.Conn. It knows whether it gave an EOF: tls.Conn
// takes one for as good as a close_notify, behind which it wouldn't have read.
type bottom interface {
	net.Conn
	ended() bool
	waits() bool
}

// An endConn is a bottom of any kind.
type endConn struct {
	net.Conn
	end     atomic.Bool
	waiting atomic.Bool     // a Read waits: the layer above has nothing left to work on
	rc      syscall.RawConn // of the socket below, nil if there is none to see
	ready   func(fd uintptr) bool
	one     [1]byte
}

func newEndConn(c net.Conn) *endConn {
	e := &endConn{Conn: c}
	if rc, layer := socketOf(c); layer == nil && canPeek {
		e.rc, e.ready = rc, e.hasArrived
	}
	return e
}

func (c *endConn) Read(p []byte) (int, error) {
	c.waiting.Store(true)
	if c.rc != nil {
		// Ends when there is something. It is to be taken when it isn't waited for any more,
		// so that whoever looks sees it in the socket, or sees that it is worked on.
		c.rc.Read(c.ready)
		c.waiting.Store(false)
	}
	n, err := c.Conn.Read(p)
	c.waiting.Store(false)
	if err == io.EOF {
		c.end.Store(true)
	}
	return n, err
}

func (c *endConn) hasArrived(fd uintptr) bool {
	_, err := peek(fd, c.one[:])
	return !wouldBlock(err)
}

func (c *endConn) ended() bool { return c.end.Load() }

func (c *endConn) waits() bool { return c.waiting.Load() }

// A quietConn is a bottom whose Read and Write do not wait in a look.
type quietConn struct {
	endConn
	src source

	// looking counts the looks under way, and closes. A Close runs beside a look at times,
	// so that one may end while the other goes on.
	looking atomic.Int32
	// stuck says that something had to be written in a look and wasn't.
	stuck atomic.Bool

	lag     *laggard       // nil if the TLS layer's records can't be kept
	patient *patientReader // nil as long as nobody wants to know what Read does

	// Guarded by tls.Conn, which makes one Read at a time.
	records recordTracker
	read    int64 // bytes read
	settled int64 // read, as of the last look that found tls.Conn with nothing left
}

// newQuietConn returns nil if raw's bytes can't be taken from below it.
func newQuietConn(raw net.Conn) *quietConn {
	var src source
	switch c := raw.(type) {
	case *net.TCPConn:
		src = newSocket(c)
	case *net.UnixConn:
		src = newSocket(c)
	case *TLSClient:
		if c.quiet != nil {
			src = c
		}
	}
	if src == nil {
		return nil
	}
	return &quietConn{endConn: endConn{Conn: raw}, src: src}
}

// look reads from c, which is the tls.Conn over q, without waiting.
func (q *quietConn) look(c *tls.Conn, p []byte) (int, error) {
	q.looking.Add(1)
	defer q.looking.Add(-1)
	n, err := c.Read(p)
	if err == errWouldBlock {
		q.settled = q.read
	}
	return n, err
}

// idle spares the way through tls.Conn, which allocates, if that has nothing left and
// nothing has arrived since.
func (q *quietConn) idle() (bool, error) {
	if q.settled != q.read || q.records.mid() {
		return false, nil
	}
	return q.src.idle()
}

func (q *quietConn) midRecord() bool { return q.records.mid() || q.src.midRecord() }

func (q *quietConn) Read(p []byte) (n int, err error) {
	if q.looking.Load() > 0 {
		n, err = q.src.readNow(p)
	} else if q.patient != nil {
		n, err = q.patient.Read(p)
	} else {
		n, err = q.Conn.Read(p)
	}
	if err == io.EOF {
		q.end.Store(true)
	}
	q.read += int64(n)
	q.records.feed(p[:n])
	return n, err
}

func (q *quietConn) Write(p []byte) (int, error) {
	if q.lag != nil {
		if took, err := q.lag.write(p); err != nil {
			return 0, err
		} else if took {
			return len(p), nil
		}
	}
	if q.looking.Load() == 0 {
		return q.Conn.Write(p)
	}
	n, err := q.src.writeNow(p)
	if err != nil {
		q.stuck.Store(true)
	}
	return n, err
}

// close closes c, which is the tls.Conn over q. The close_notify is sent if the socket
// takes it at once.
func (q *quietConn) close(c *tls.Conn) error {
	q.looking.Add(1) // for good: nothing waits on a closed connection
	return c.Close()
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
