package health

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// A Probe looks at one connection again and again, without an allocation per look.
//
// On a TLS connection that NewTLSClient didn't make, the probe can see records but
// not into them. Nothing waiting is Alive; a FIN, an RST or an alert is Dead, and so is
// application data of TLS 1.2; other records may be session tickets and give Unknown.
// What the TLS layer has already taken from the socket the probe can't see.
type Probe struct {
	own     looker // the connection's own way to look; nil: the fields below
	rc      syscall.RawConn
	layer   net.Conn         // the TLS connection over the socket, nil for a plain one
	version uint16           // of layer, zero: not yet known
	look    func(fd uintptr) // p.peek, bound once
	peekAll func(fd uintptr) // p.peekMore, bound when something waits

	// The result of look and peekAll.
	n   int
	err error
	buf [1]byte
	rec *recordBuf
}

// NewProbe returns a probe for c; see Socket for what can be looked at. It is never
// nil; where nothing can be known, Look returns Unknown.
func NewProbe(c net.Conn) *Probe {
	p := &Probe{}
	if l, ok := c.(looker); ok {
		p.own = l
		return p
	}
	p.bind(c)
	return p
}

func (p *Probe) bind(c net.Conn) {
	p.rc, p.layer = socketOf(c)
	p.look = p.peek
}

// Look takes one look, as Socket does. It must not run at the same time as a Read on
// the connection or as another Look.
func (p *Probe) Look() (Verdict, error) {
	if p.own != nil {
		return p.own.Look()
	}
	if p.rc == nil {
		return Unknown, errNoSocket
	}
	if err := p.rc.Control(p.look); err != nil {
		return Dead, err // closed on this side
	}
	return p.Glanced()
}

// Descriptor returns the way to the socket of a plain connection, nil of any other.
func (p *Probe) Descriptor() syscall.RawConn {
	if p.own != nil || p.layer != nil || !canPeek {
		return nil
	}
	return p.rc
}

// Glance is the part of Look that takes the descriptor, for somebody who has it in hand by a
// syscall.RawConn. It reports whether Glanced would say anything but Dead, and is bound by what
// binds Look.
func (p *Probe) Glance(fd uintptr) bool {
	p.peek(fd)
	v, _ := judge(p.n, p.err)
	return v != Dead
}

// Glanced is what Look would have returned in place of the last Glance.
func (p *Probe) Glanced() (Verdict, error) {
	if p.n > 0 {
		return p.lookCloser()
	}
	return judge(p.n, p.err)
}

func (p *Probe) peek(fd uintptr) { p.n, p.err = peek(fd, p.buf[:]) }

// judge turns the result of a peek into a verdict.
func judge(n int, err error) (Verdict, error) {
	switch {
	case err == nil && n > 0:
		return Dead, ErrSurplus
	case err == nil:
		return Dead, io.EOF
	case wouldBlock(err):
		return Alive, nil
	case cannotPeek(err):
		return Unknown, err
	}
	return Dead, os.NewSyscallError("recvfrom", err)
}

// recordBuf holds the head of a socket's receive queue. Two session tickets of usual
// size fit well; what doesn't fit is Unknown.
type recordBuf [4096]byte

var recordBufs = sync.Pool{New: func() any { return new(recordBuf) }}

// lookCloser judges a connection on which something waits.
func (p *Probe) lookCloser() (Verdict, error) {
	p.rec = recordBufs.Get().(*recordBuf)
	defer func() {
		recordBufs.Put(p.rec)
		p.rec = nil
	}()
	if p.peekAll == nil {
		p.peekAll = p.peekMore
	}
	if err := p.rc.Control(p.peekAll); err != nil {
		return Dead, err
	}
	switch {
	case p.err != nil || p.n == 0:
		return judge(p.n, p.err)
	case p.layer == nil:
		return Dead, surplus(p.rec[:min(p.n, surplusHead)])
	}
	return judgeRecords(p.rec[:p.n], p.tlsVersion())
}

// peekMore asks for a hang-up first if there are records: behind those that wait, a peek
// can't see a FIN.
func (p *Probe) peekMore(fd uintptr) {
	if p.layer != nil && hungUp(fd) {
		p.n, p.err = 0, nil
		return
	}
	p.n, p.err = peek(fd, p.rec[:])
}

// tlsVersion returns the connection's version; zero if it can't be known, which
// judgeRecords reads with the same care as TLS 1.3.
func (p *Probe) tlsVersion() uint16 {
	if p.version == 0 {
		if s, ok := p.layer.(tlsStater); ok {
			p.version = s.ConnectionState().Version
		}
	}
	return p.version
}

// Record types and sizes of RFC 8446 section 5.1 and 5.2.
const (
	recordHeaderLen  = 5
	recordAlert      = 21
	recordData       = 23
	alertRecord13Len = 2 + 1 + 16 // an alert, its inner type, and the tag of every cipher suite of TLS 1.3
)

// judgeRecords walks the headers of the records at the start of b. Under TLS 1.3 all
// records look like application data; one of an alert's size is an alert or surplus data
// of two bytes, and Dead either way.
func judgeRecords(b []byte, version uint16) (Verdict, error) {
	for len(b) >= recordHeaderLen {
		n := int(b[3])<<8 | int(b[4])
		switch {
		case b[0] == recordAlert:
			return Dead, errAlert
		case b[0] == recordData && n == alertRecord13Len && (version == tls.VersionTLS13 || version == 0):
			return Dead, errAlert
		case b[0] == recordData && version != 0 && version < tls.VersionTLS13:
			return Dead, ErrSurplus
		}
		if len(b) < recordHeaderLen+n {
			break
		}
		b = b[recordHeaderLen+n:]
	}
	return Unknown, errPending
}
