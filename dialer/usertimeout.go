package dialer

import (
	"fmt"
	"net"
	"time"
)

// defaultUserTimeout is well above the time in which TCP finds another way around a broken
// one, and below the 15 minutes for which Linux would send the same bytes again.
const defaultUserTimeout = 2 * time.Minute

// maxUserTimeout is what the kernel's 32 bits of milliseconds can say.
const maxUserTimeout = (1<<31 - 1) * time.Millisecond

// userTimeout is the time to set; zero: none. optional says that nobody asked for it.
func (d *Dialer) userTimeout() (t time.Duration, optional bool) {
	switch {
	case d.UserTimeout > 0:
		return min(max(d.UserTimeout, time.Millisecond), maxUserTimeout), false
	case d.UserTimeout < 0 || d.KeepAlive.Enable:
		return 0, true
	}
	return defaultUserTimeout, true
}

// limitSilence sets TCP_USER_TIMEOUT on what race has connected.
func (d *Dialer) limitSilence(c net.Conn) error {
	t, optional := d.userTimeout()
	tc, ok := c.(*net.TCPConn)
	if t == 0 || !ok {
		return nil
	}
	rc, err := tc.SyscallConn()
	if err == nil {
		cerr := rc.Control(func(fd uintptr) { err = setUserTimeout(fd, t, optional) })
		if err == nil {
			err = cerr
		}
	}
	if err == nil || optional {
		return nil
	}
	return fmt.Errorf("setting UserTimeout: %w", err)
}
