//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// A patientReader reads a descriptor, and waits if there is nothing to read. It's known all
// the time which of the two it does: waiting is false before anything is taken.
type patientReader struct {
	c       net.Conn
	rc      syscall.RawConn
	recv    func(fd uintptr) bool // bound once
	waiting atomic.Bool

	// Arguments and results of recv. tls.Conn makes one Read at a time.
	buf []byte
	n   int
	err error
}

// newPatientReader returns nil if c is no socket of the kernel's.
func newPatientReader(c net.Conn) *patientReader {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return nil
	}
	rc, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil
	}
	r := &patientReader{c: c, rc: rc}
	r.recv = r.recvNow
	return r
}

// Read is a net.Conn's.
func (r *patientReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.buf = p
	err := r.rc.Read(r.recv)
	r.buf = nil
	r.waiting.Store(false)
	if err == nil && r.err != nil {
		err = os.NewSyscallError("read", r.err)
	}
	switch {
	case err != nil:
		if _, wrapped := err.(*net.OpError); !wrapped {
			err = &net.OpError{Op: "read", Net: r.c.LocalAddr().Network(), Source: r.c.LocalAddr(), Addr: r.c.RemoteAddr(), Err: err}
		}
		return 0, err
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

func (r *patientReader) recvNow(fd uintptr) bool {
	r.waiting.Store(false)
	r.n, r.err = recv(fd, r.buf, 0)
	if wouldBlock(r.err) {
		r.waiting.Store(true)
		return false
	}
	return true
}
