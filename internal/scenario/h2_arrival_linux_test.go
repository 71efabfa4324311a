package scenario

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// tcpEstablished is Linux's TCP_ESTABLISHED.
const tcpEstablished = 1

// endArrived waits until the peer's FIN or RST has arrived at a socket, which the pool may
// be reading, or may have closed for it.
func endArrived(nc net.Conn) bool {
	raw, err := nc.(syscall.Conn).SyscallConn()
	return err != nil || within(patience, func() bool {
		ended := false
		err := raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			ended = err == nil && info.State != tcpEstablished
		})
		return ended || err != nil
	})
}
