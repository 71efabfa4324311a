//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package health

import (
	"net"
	"sync/atomic"
)

// A patientReader can't be had here.
type patientReader struct{ waiting atomic.Bool }

func newPatientReader(net.Conn) *patientReader { return nil }

func (*patientReader) Read([]byte) (int, error) { return 0, net.ErrClosed }
