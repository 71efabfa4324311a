//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package h2

import (
	"net"
	"sync/atomic"
)

// A socket can't be written without waiting here; there is none.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) read([]byte, *atomic.Bool) (int, error) { return 0, net.ErrClosed }
func (*socket) write([]byte) (int, error)              { return 0, net.ErrClosed }
