package health

import (
	"net"
	"syscall"
)

// Arrivals looks at the socket of a connection that somebody else reads from all the time,
// as HTTP/2's read loop does: there bytes are no surplus, but an end is an end, and what
// hasn't been read yet may be about it. A look costs one system call and no allocation.
type Arrivals struct {
	rc   syscall.RawConn // nil: there is no socket to be seen
	look func(fd uintptr)

	ended, unread bool // the result of look
}

// NewArrivals finds the socket below c and whatever layers it has. It is never nil.
func NewArrivals(c net.Conn) *Arrivals {
	a := &Arrivals{}
	a.rc, _ = socketOf(c)
	a.look = func(fd uintptr) { a.ended, a.unread = arrived(fd) }
	return a
}

// Look reports whether the peer's FIN or RST has arrived, and whether bytes (or that end)
// wait in the socket to be read. Both are false where there is no socket to be seen. Where
// the platform can't tell, an end behind unread bytes is seen when those have been read.
// It doesn't wait, may run beside Read and Write, but not beside another Look.
func (a *Arrivals) Look() (ended, unread bool) {
	if a.rc == nil {
		return false, false
	}
	if err := a.rc.Control(a.look); err != nil {
		return true, false // closed on this side
	}
	return a.ended, a.unread
}

// Cause tells a FIN from an RST after Look has found the end. What Read returns, given to
// CauseOfRead, tells more: that there was a close_notify, or that it was this host's kernel
// that gave the connection up, which is CauseReset here (as is a FIN after CloseWrite). On Linux Cause takes nothing from
// Read; elsewhere the kernel may tell of an RST only once.
//
// It doesn't wait and may run beside Read, Write and Look.
func (a *Arrivals) Cause() (c Cause) {
	if a.rc != nil {
		a.rc.Control(func(fd uintptr) { c = endCause(fd) })
	}
	return c
}

// peekArrived reports whether the peer's FIN or RST is the next thing to read, and whether
// there is something to read, be it that end.
func peekArrived(fd uintptr) (ended, unread bool) {
	var one [1]byte
	switch n, err := peek(fd, one[:]); {
	case err != nil && (wouldBlock(err) || cannotPeek(err)):
		return false, false
	case err != nil:
		return true, true
	default:
		return n == 0, true
	}
}
