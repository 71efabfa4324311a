//go:build unix

package bench

import (
	"syscall"
	"time"
)

// haveCPU says whether cpuTime tells anything.
const haveCPU = true

// cpuTime returns the user and system time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
