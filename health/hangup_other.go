//go:build !linux

package health

// hungUp: without POLLRDHUP, a FIN behind waiting bytes can't be seen.
func hungUp(uintptr) bool { return false }

func arrived(fd uintptr) (ended, unread bool) { return peekArrived(fd) }

// endCause tells how the peer ended the connection; CauseUnknown: it didn't, or bytes hide it.
func endCause(fd uintptr) Cause {
	var one [1]byte
	n, err := peek(fd, one[:])
	verdict, err := judge(n, err)
	if verdict != Dead || n > 0 {
		return CauseUnknown
	}
	return CauseOf(err)
}
