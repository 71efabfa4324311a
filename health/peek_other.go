//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package health

import "errors"

// On these platforms there is no way to look that is known to be sound.
const canPeek = false

func peek(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func wouldBlock(error) bool { return false }

func cannotPeek(error) bool { return true }
