//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package h1

import "errors"

// canDuplex: elsewhere a RawConn's callback isn't there to read and write by.
const canDuplex = false

func readNow(uintptr, []byte) (int, error)  { return 0, errors.ErrUnsupported }
func writeNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
func wouldBlock(error) bool                 { return false }
