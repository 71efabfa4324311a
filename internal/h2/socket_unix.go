//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package h2

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A socket writes to a descriptor without waiting, and reads from one so that it's known all
// the time whether something has been taken. The read loop reads, and whoever has the writer's
// role writes.
type socket struct {
	nc         net.Conn
	rc         syscall.RawConn
	recv, send func(fd uintptr) bool // bound once
	resting    *atomic.Bool
	rbuf, wbuf []byte
	rn, wn     int
	rerr, werr error
}

// newSocket returns nil if nc is no socket of the kernel's.
func newSocket(nc net.Conn) *socket {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return nil
	}
	rc, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{nc: nc, rc: rc}
	s.recv, s.send = s.recvNow, s.sendNow
	return s
}

// read is a Read that keeps resting: it's true only while nothing has been taken.
func (s *socket) read(p []byte, resting *atomic.Bool) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.rbuf, s.resting = p, resting
	err := s.rc.Read(s.recv)
	s.rbuf = nil
	resting.Store(false)
	switch {
	case err != nil:
		return 0, s.wrap("read", err)
	case s.rerr != nil:
		return 0, s.wrap("read", os.NewSyscallError("read", s.rerr))
	case s.rn == 0:
		return 0, io.EOF
	}
	return s.rn, nil
}

func (s *socket) recvNow(fd uintptr) bool {
	s.resting.Store(false)
	for {
		s.rn, s.rerr = unix.Read(int(fd), s.rbuf)
		if s.rerr != unix.EINTR {
			break
		}
	}
	s.rn = max(s.rn, 0)
	if s.rerr == unix.EAGAIN {
		s.resting.Store(true)
		return false
	}
	return true
}

// write writes what the socket takes at once.
func (s *socket) write(p []byte) (n int, err error) {
	s.wbuf, s.wn, s.werr = p, 0, nil
	err = s.rc.Write(s.send)
	s.wbuf = nil
	switch {
	case err != nil:
		return s.wn, s.wrap("write", err)
	case s.werr != nil:
		return s.wn, s.wrap("write", os.NewSyscallError("write", s.werr))
	}
	return s.wn, nil
}

func (s *socket) sendNow(fd uintptr) bool {
	for s.wn < len(s.wbuf) {
		n, err := unix.Write(int(fd), s.wbuf[s.wn:])
		switch {
		case n > 0:
			s.wn += n
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return true
		case err != nil:
			s.werr = err
			return true
		default:
			s.werr = io.ErrUnexpectedEOF
			return true
		}
	}
	return true
}

// wrap makes of err what package net would return.
func (s *socket) wrap(op string, err error) error {
	if _, ok := err.(*net.OpError); ok {
		return err
	}
	return &net.OpError{Op: op, Net: s.nc.LocalAddr().Network(), Source: s.nc.LocalAddr(), Addr: s.nc.RemoteAddr(), Err: err}
}
