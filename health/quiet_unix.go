//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"io"
	"os"
	"syscall"
)

const canReadQuietly = true

// readNow takes what has arrived. It goes by RawConn.Control, because RawConn.Read would
// wait for a Read that is under way, and heed a read deadline that has passed.
func (q *quietConn) readNow(p []byte) (int, error) {
	q.rbuf = p
	err := q.rc.Control(q.recv)
	q.rbuf = nil
	switch {
	case err != nil:
		return 0, err
	case q.err == nil && q.n == 0 && len(p) > 0:
		return 0, io.EOF
	case q.err == nil:
		return q.n, nil
	case wouldBlock(q.err):
		return 0, errWouldBlock
	}
	return 0, os.NewSyscallError("recvfrom", q.err)
}

func (q *quietConn) recvNow(fd uintptr) {
	q.n, q.err = recv(fd, q.rbuf, syscall.MSG_DONTWAIT)
}

// writeNow sends all of p or fails.
func (q *quietConn) writeNow(p []byte) (int, error) {
	q.wbuf = p
	err := q.rc.Control(q.send)
	q.wbuf = nil
	switch {
	case err != nil:
		return 0, err
	case q.werr != nil && !wouldBlock(q.werr):
		return 0, os.NewSyscallError("sendmsg", q.werr)
	case q.wn < len(p):
		return q.wn, errStuck
	}
	return q.wn, nil
}

func (q *quietConn) sendNow(fd uintptr) {
	for {
		n, err := syscall.SendmsgN(int(fd), q.wbuf, nil, nil, syscall.MSG_DONTWAIT)
		if err == syscall.EINTR {
			continue
		}
		q.wn, q.werr = max(n, 0), err
		return
	}
}
