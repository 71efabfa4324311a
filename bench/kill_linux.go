package bench

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// kill makes an address swallow connections, as that of a host which is gone: a socket whose
// backlog is full gets SYNs and answers none. revive takes it away.
func kill(addr netip.AddrPort) (revive func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var filling []net.Conn
	revive = func() {
		for _, c := range filling {
			_ = c.Close()
		}
		_ = syscall.Close(fd)
	}
	err = errors.Join(
		syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}),
		syscall.Listen(fd, 0))
	if err == nil {
		filling, err = fill(addr)
	}
	if err != nil {
		revive()
		return nil, err
	}
	return revive, nil
}

// fill connects until nobody answers.
func fill(addr netip.AddrPort) (cs []net.Conn, err error) {
	for range 8 {
		c, err := net.DialTimeout("tcp", addr.String(), 100*time.Millisecond)
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			return cs, nil
		}
		if err != nil {
			return cs, err
		}
		cs = append(cs, c)
	}
	return cs, errors.New("the backlog doesn't fill up")
}
