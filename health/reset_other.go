//go:build !windows

package health

import (
	"errors"
	"syscall"
)

// isReset reports whether err comes of the peer's RST.
func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
