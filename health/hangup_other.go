//go:build !linux

package health

// hungUp: without POLLRDHUP, a FIN behind waiting bytes can't be seen.
func hungUp(uintptr) bool { return false }

// arrived reports whether the peer's FIN or RST is the next thing to read, and whether
// there is something to read.
func arrived(fd uintptr) (ended, unread bool) {
	var one [1]byte
	switch n, err := peek(fd, one[:]); {
	case err != nil:
		return !wouldBlock(err) && !cannotPeek(err), false
	default:
		return n == 0, true
	}
}

// endCause tells how the peer ended the connection; CauseUnknown: it didn't, or bytes hide it.
func endCause(fd uintptr) Cause {
	var one [1]byte
	n, err := peek(fd, one[:])
	switch {
	case err != nil && (wouldBlock(err) || cannotPeek(err)), n > 0:
		return CauseUnknown
	}
	_, err = judge(n, err)
	return CauseOf(err)
}
