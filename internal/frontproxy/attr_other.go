//go:build unix && !linux

package frontproxy

import "syscall"

// childAttr puts a proxy and its workers into a process group of their own.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
