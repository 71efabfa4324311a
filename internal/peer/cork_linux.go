package peer

import (
	"net"
	"syscall"
)

// cork holds back what is written until the connection is closed, so that the
// last bytes and the FIN leave in one segment.
func cork(c *net.TCPConn) {
	rc, err := c.SyscallConn()
	if err != nil {
		return // closed already
	}
	_ = rc.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CORK, 1)
	})
}
