package health

import "golang.org/x/sys/unix"

// hungUp reports whether the peer's FIN or RST has arrived, whatever waits before it.
func hungUp(fd uintptr) bool {
	ended, _ := arrived(fd)
	return ended
}

// arrived reports whether the peer's FIN or RST has arrived, and whether there is something
// to read, be it that end.
func arrived(fd uintptr) (ended, unread bool) {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
	for {
		n, err := unix.Poll(fds[:], 0)
		if err == unix.EINTR {
			continue
		}
		got := fds[0].Revents
		if err != nil || n == 0 {
			return false, false
		}
		return got&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0, got&unix.POLLIN != 0
	}
}
