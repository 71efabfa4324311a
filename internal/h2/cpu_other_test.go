//go:build !unix

package h2

import "time"

// cpuTime isn't known here.
func cpuTime() time.Duration { return 0 }
