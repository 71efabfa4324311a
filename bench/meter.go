package bench

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"time"
)

// usage is what this process used in a measured stretch.
type usage struct {
	requests uint64
	bytes    int64 // of bodies, where these are counted
	wall     time.Duration
	cpu      time.Duration // user and system; zero where the system doesn't tell
	mallocs  uint64
	peaks    *figures // memory and syscalls as they grew; nil: not looked at
}

func (u *usage) add(v usage) {
	u.requests += v.requests
	u.bytes += v.bytes
	u.wall += v.wall
	u.cpu += v.cpu
	u.mallocs += v.mallocs
	if p := v.peaks; u.peaks == nil || p == nil {
		u.peaks = cmp.Or(u.peaks, p)
	} else {
		sum := u.peaks.syscalls + p.syscalls
		u.peaks = new(*u.peaks)
		if u.peaks.raise(*p); p.syscalls != unknown {
			u.peaks.syscalls = sum
		}
	}
}

// A meter is a stretch being measured.
type meter struct {
	start   time.Time
	cpu     time.Duration
	mallocs uint64
	watch   watch
}

func startMeter() meter {
	debug.FreeOSMemory() // the garbage of whatever came before isn't this client's
	w := startWatch()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return meter{start: time.Now(), cpu: cpuTime(), mallocs: m.Mallocs, watch: w}
}

func (m meter) stop() usage {
	u := usage{wall: time.Since(m.start), cpu: cpuTime() - m.cpu}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	u.mallocs = s.Mallocs - m.mallocs
	u.peaks = new(m.watch.stop())
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
	return round(n/u.wall.Seconds(), 1), cpu, round(float64(u.mallocs)/n, 1)
}

// setPeaks is for a Result and a Sample.
func (u usage) setPeaks(goroutines, fds, grown **int64, syscalls **float64) {
	if u.peaks == nil || u.requests == 0 {
		return
	}
	*goroutines, *fds, *grown = known(u.peaks.goroutines), known(u.peaks.fds), known(u.peaks.resident)
	if n := u.peaks.syscalls; n != unknown {
		*syscalls = new(round(float64(n)/float64(u.requests), 2))
	}
}
