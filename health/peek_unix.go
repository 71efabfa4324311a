//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import "syscall"

const canPeek = true

// peek reads from the socket's receive queue without taking anything out of it and
// without waiting.
func peek(fd uintptr, b []byte) (int, error) {
	return recv(fd, b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
}

// recv is recv(2), again after an interrupt. An EOF is 0, nil.
func recv(fd uintptr, b []byte, flags int) (int, error) {
	for {
		n, _, err := syscall.Recvfrom(int(fd), b, flags)
		if err == syscall.EINTR {
			continue
		}
		return max(n, 0), err
	}
}

func wouldBlock(err error) bool { return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK }

// cannotPeek reports errors that say nothing about the peer: the descriptor is no
// socket, has no such operation, or the kernel is short of memory.
func cannotPeek(err error) bool {
	switch err {
	case syscall.ENOTSOCK, syscall.EOPNOTSUPP, syscall.EINVAL, syscall.ENOMEM, syscall.ENOBUFS:
		return true
	}
	return false
}
