package frontproxy

import "syscall"

// childAttr puts a proxy and its workers into a process group of their own, and ends it
// when this process dies without a chance to do so (a test that timed out panics).
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
