package health

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// A Vigil is a connection that can't be looked at, made one that can: while it is idle a
// Read of a few bytes waits on it, in a goroutine. What that Read gets while nobody has asked
// for anything is the end of the connection or surplus; what it gets later is the beginning
// of an answer, and the next Read returns it. It is for connections of which a Probe
// can't tell (see Probe.Sees): wrappers of dial hooks, TLS layers that NewTLSClient didn't
// make, and platforms without a way to look.
//
// Begin and Look are for whoever holds the connection between two exchanges, and exclude
// Read and each other.
type Vigil struct {
	net.Conn
	ended   func(error)
	probe   *Probe // sees the socket below a foreign TLS layer, or nothing
	pending *vigilRead
	idle    atomic.Bool
}

type vigilRead struct {
	done chan struct{} // closed when the rest is there
	b    [surplusHead]byte
	n    int // bytes of b that were read
	from int // bytes of them that were returned
	err  error
}

// NewVigil returns a Vigil over c. ended is called, from a goroutine of the Vigil's, when a
// connection that is idle has ended or got surplus, with what Look would say. It isn't
// called while a Look's caller uses the connection.
func NewVigil(c net.Conn, ended func(error)) *Vigil {
	return &Vigil{Conn: c, probe: NewProbe(c), ended: ended}
}

// Begin says that the connection is idle from now on.
func (v *Vigil) Begin() {
	v.idle.Store(true)
	if v.pending != nil {
		return // nothing has been read since
	}
	r := &vigilRead{done: make(chan struct{})}
	v.pending = r
	if v.takeBuffered(r) {
		close(r.done)
		return
	}
	go func() {
		r.n, r.err = v.Conn.Read(r.b[:])
		// Before the bytes are somebody's, who may be through with them at once.
		idle, verdict := v.idle.Load(), v.verdict(r)
		close(r.done)
		if idle {
			v.ended(verdict)
		}
	}()
}

// takeBuffered reads what a TLS layer of somebody else's has decrypted already: the
// goroutine might come to it after a Look. Over a socket a deadline in the past ends the
// Read before it gets there, and the layer stays usable.
func (v *Vigil) takeBuffered(r *vigilRead) (got bool) {
	t, ok := v.Conn.(*tls.Conn)
	if !ok {
		return false
	}
	switch t.NetConn().(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return false
	}
	if t.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	r.n, r.err = t.Read(r.b[:])
	t.SetReadDeadline(time.Time{})
	return r.n > 0 || !errors.Is(r.err, os.ErrDeadlineExceeded)
}

// Ended reports whether the waiting Read has ended already, and what Look would say. It is
// for whoever made the connection idle after Begin: ended may have come to it before.
func (v *Vigil) Ended() (error, bool) {
	r := v.pending
	select {
	case <-r.done:
		return v.verdict(r), true
	default:
		return nil, false
	}
}

// Look says that the connection isn't idle any more, and what has become of it. Dead comes
// with ErrSurplus, or with what Read returned, or with what a look at the socket found, if
// there is one to see. Where there is none, what has arrived but wasn't given to the
// waiting goroutine yet is not seen.
func (v *Vigil) Look() (Verdict, error) {
	v.idle.Store(false)
	if v.pending == nil {
		return Unknown, nil
	}
	layer, _ := v.Conn.(*TLSClient)
	for turn := range vigilTurns {
		select {
		case <-v.pending.done:
			return Dead, v.verdict(v.pending)
		default:
		}
		verdict, err := v.probe.Look()
		if verdict == Dead {
			return Dead, err
		}
		if err != errPending && (layer == nil || layer.below.waits()) {
			break
		}
		// The goroutine is about to take what has arrived, or at work on it.
		if turn < vigilTurns/2 {
			runtime.Gosched()
		} else {
			time.Sleep(vigilTurn)
		}
	}
	return Alive, nil
}

// A look waits so often, and at last so long, for the goroutine: what has arrived may be
// no more than session tickets.
const (
	vigilTurns = 20
	vigilTurn  = 100 * time.Microsecond
)

// verdict is what Look says of r, which is done: of the bytes that nobody has read, or of
// the end.
func (v *Vigil) verdict(r *vigilRead) error {
	if r.from < r.n {
		return surplus(r.b[r.from:r.n])
	}
	return endOf(v.Conn, r.err)
}

// Read reads on from what the waiting Read got.
func (v *Vigil) Read(p []byte) (int, error) {
	r := v.pending
	if r == nil || len(p) == 0 {
		return v.Conn.Read(p)
	}
	<-r.done // a Close of the connection ends it
	n := copy(p, r.b[r.from:r.n])
	if r.from += n; r.from < r.n {
		return n, nil
	}
	v.pending = nil
	return n, r.err
}

// Reads returns the connection that v reads from.
func (v *Vigil) Reads() net.Conn { return v.Conn }

// Sees reports whether Look can tell alive from dead on this connection. Where it can't,
// a Vigil can.
func (p *Probe) Sees() bool {
	if s, ok := p.own.(interface{ Sees() bool }); ok {
		return s.Sees()
	}
	return p.own != nil || canPeek && p.rc != nil && p.layer == nil
}

// Sees reports whether Look can see through the TLS layer.
func (c *TLSClient) Sees() bool { return c.quiet != nil }
