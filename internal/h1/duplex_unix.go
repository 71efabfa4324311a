//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package h1

import "syscall"

const canDuplex = true

// readNow is read(2) on a descriptor that doesn't block. An EOF is 0, nil.
func readNow(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// writeNow is write(2) on a descriptor that doesn't block.
func writeNow(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), p)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

func wouldBlock(err error) bool { return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK }
