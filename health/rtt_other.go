//go:build !linux

package health

import "time"

func kernelRTT(uintptr) (time.Duration, bool) { return 0, false }
