package health

import (
	"net"
	"time"
)

// RTT returns the round trip time to c's peer as the kernel has measured it, smoothed, and
// without what this process took for itself. It is the peer's of the TCP connection below c,
// which may be something on the way that answers for it. ok is false where there is no TCP
// socket below c, and on platforms other than Linux. It costs a system call, and waits for
// nothing.
func RTT(c net.Conn) (rtt time.Duration, ok bool) {
	rc, _ := socketOf(c)
	if rc == nil {
		return 0, false
	}
	err := rc.Control(func(fd uintptr) { rtt, ok = kernelRTT(fd) })
	return rtt, ok && err == nil
}
