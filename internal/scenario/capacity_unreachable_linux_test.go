package scenario

import (
	"net"
	"strconv"
	"syscall"
	"time"
)

// deaf returns an address that answers no SYN: a socket whose backlog is full.
func (r *rig) deaf() string {
	r.t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		r.onEnd(func() { syscall.Close(fd) })
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = syscall.Listen(fd, 0)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		r.t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*syscall.SockaddrInet4).Port))
	for range 8 {
		c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			return addr
		}
		r.onEnd(func() { c.Close() })
	}
	r.t.Fatal("the backlog doesn't fill up")
	return ""
}
