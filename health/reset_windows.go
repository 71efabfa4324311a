package health

import (
	"errors"
	"syscall"
)

// isReset reports whether err comes of the peer's RST. Winsock has numbers of its own, and
// calls a connection that was reset while nothing was asked of it aborted.
func isReset(err error) bool {
	return errors.Is(err, syscall.WSAECONNRESET) || errors.Is(err, syscall.WSAECONNABORTED)
}
