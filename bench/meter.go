package bench

import (
	"runtime"
	"time"
)

// usage is what this process used in a measured stretch.
type usage struct {
	requests uint64
	bytes    int64 // of bodies, where these are counted
	wall     time.Duration
	cpu      time.Duration // user and system; zero where the system doesn't tell
	mallocs  uint64
}

func (u *usage) add(v usage) {
	u.requests += v.requests
	u.bytes += v.bytes
	u.wall += v.wall
	u.cpu += v.cpu
	u.mallocs += v.mallocs
}

// A meter is a stretch being measured.
type meter struct {
	start   time.Time
	cpu     time.Duration
	mallocs uint64
}

func startMeter() meter {
	runtime.GC() // the garbage of whatever came before isn't this client's
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return meter{start: time.Now(), cpu: cpuTime(), mallocs: m.Mallocs}
}

func (m meter) stop() usage {
	u := usage{wall: time.Since(m.start), cpu: cpuTime() - m.cpu}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	u.mallocs = s.Mallocs - m.mallocs
	return u
}

// perRequest returns the requests in a second, the CPU time of one in microseconds, nil
// where the system doesn't tell, and its allocations; zeros of nothing.
func (u usage) perRequest() (rps float64, cpu *float64, allocs float64) {
	n := float64(u.requests)
	if n == 0 {
		return 0, nil, 0
	}
	if haveCPU {
		cpu = new(round(u.cpu.Seconds()*1e6/n, 1))
	}
	return round(n/u.wall.Seconds(), 0), cpu, round(float64(u.mallocs)/n, 1)
}
