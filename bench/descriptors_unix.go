//go:build unix

package bench

import (
	"math"
	"syscall"
)

// openFiles is how many files this process may have open. The peer's, as every process of
// Go's, raises its own limit to that, too.
func openFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return math.MaxInt
	}
	return int(min(uint64(l.Cur), math.MaxInt))
}
