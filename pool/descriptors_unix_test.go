//go:build darwin || dragonfly || linux || netbsd || openbsd

package pool

import (
	"syscall"
	"testing"
)

// needDescriptors skips where the process, or its child, which inherits its limit, can't
// have n. (Go raises the soft limit by itself.)
func needDescriptors(tb testing.TB, n int) {
	tb.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		tb.Fatal(err)
	}
	if l.Cur < uint64(n) {
		tb.Skipf("%d descriptors are needed, and %d allowed", n, l.Cur)
	}
}
