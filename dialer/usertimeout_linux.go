package dialer

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout sets TCP_USER_TIMEOUT (RFC 5482 section 3). With keep it leaves what a
// Control function has set.
func setUserTimeout(fd uintptr, t time.Duration, keep bool) error {
	if keep {
		if now, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err != nil || now != 0 {
			return err
		}
	}
	ms := int((t + time.Millisecond - 1) / time.Millisecond)
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms))
}
