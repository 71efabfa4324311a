//go:build !unix

package pool

import "time"

func cpuTime() time.Duration { return 0 }
