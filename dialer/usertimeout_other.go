//go:build !linux

package dialer

import (
	"errors"
	"time"
)

func setUserTimeout(uintptr, time.Duration, bool) error { return errors.ErrUnsupported }
