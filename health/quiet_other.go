//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package health

import "syscall"

func newSocket(syscall.Conn) source { return nil }
