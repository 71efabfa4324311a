//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"io"
	"os"
	"syscall"
)

// A socket reads and writes a descriptor without waiting. It goes by RawConn.Control,
// because RawConn.Read would wait for a Read that is under way, and heed a read deadline
// that has passed.
type socket struct {
	rc               syscall.RawConn
	recv, send, peek func(fd uintptr) // bound once

	// Arguments and results of recv and of send. tls.Conn makes one Read and one Write at
	// a time.
	rbuf, wbuf []byte
	rn, wn     int
	rerr, werr error
	one        [1]byte
}

// newSocket returns nil if c has no descriptor.
func newSocket(c syscall.Conn) source {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{rc: rc}
	s.recv, s.send, s.peek = s.recvNow, s.sendNow, s.peekNow
	return s
}

func (s *socket) midRecord() bool { return false }

func (s *socket) idle() (bool, error) {
	err := s.rc.Control(s.peek)
	switch {
	case err != nil:
		return false, err
	case s.rerr == nil || cannotPeek(s.rerr):
		return false, nil
	case wouldBlock(s.rerr):
		return true, nil
	}
	return false, os.NewSyscallError("recvfrom", s.rerr)
}

func (s *socket) peekNow(fd uintptr) { s.rn, s.rerr = peek(fd, s.one[:]) }

func (s *socket) readNow(p []byte) (int, error) {
	s.rbuf = p
	err := s.rc.Control(s.recv)
	s.rbuf = nil
	switch {
	case err != nil:
		return 0, err
	case s.rerr == nil && s.rn == 0 && len(p) > 0:
		return 0, io.EOF
	case s.rerr == nil:
		return s.rn, nil
	case wouldBlock(s.rerr):
		return 0, errWouldBlock
	}
	return 0, os.NewSyscallError("recvfrom", s.rerr)
}

func (s *socket) recvNow(fd uintptr) {
	s.rn, s.rerr = recv(fd, s.rbuf, syscall.MSG_DONTWAIT)
}

func (s *socket) writeNow(p []byte) (int, error) {
	s.wbuf = p
	err := s.rc.Control(s.send)
	s.wbuf = nil
	switch {
	case err != nil:
		return 0, err
	case s.werr != nil && !wouldBlock(s.werr):
		return 0, os.NewSyscallError("sendmsg", s.werr)
	case s.wn < len(p):
		return s.wn, errStuck
	}
	return s.wn, nil
}

func (s *socket) sendNow(fd uintptr) {
	for {
		n, err := syscall.SendmsgN(int(fd), s.wbuf, nil, nil, syscall.MSG_DONTWAIT)
		if err == syscall.EINTR {
			continue
		}
		s.wn, s.werr = max(n, 0), err
		return
	}
}
