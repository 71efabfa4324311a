//go:build !unix

package bench

import "time"

const haveCPU = false

func cpuTime() time.Duration { return 0 }
