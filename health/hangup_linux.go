package health

import "golang.org/x/sys/unix"

// hungUp reports whether the peer's FIN or RST has arrived, whatever waits before it.
func hungUp(fd uintptr) bool {
	ended, _ := arrived(fd)
	return ended
}

// endCause tells how the peer ended the connection; CauseUnknown: it didn't. A poll takes
// nothing, while a peek at an RST would take the error that a Read is waiting for.
func endCause(fd uintptr) Cause {
	switch got := pollNow(fd); {
	case got&unix.POLLERR != 0:
		return CauseReset
	case got&unix.POLLHUP != 0:
		return CauseReset // both directions have ended, and somebody has taken the error
	case got&unix.POLLRDHUP != 0:
		return CauseFIN
	}
	return CauseUnknown
}

// arrived reports whether the peer's FIN or RST has arrived, and whether there is something
// to read, be it that end.
func arrived(fd uintptr) (ended, unread bool) {
	got := pollNow(fd)
	return got&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0, got&unix.POLLIN != 0
}

// pollNow returns what the kernel would wake a reader for; zero if it can't be known.
func pollNow(fd uintptr) int16 {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
	for {
		n, err := unix.Poll(fds[:], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return 0
		}
		return fds[0].Revents
	}
}
