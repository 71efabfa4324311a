package bench

import (
	"runtime"
	"time"
)

const (
	// lookEvery is the least time between two looks at this process.
	lookEvery = 50 * time.Millisecond
	// lookShare is how many times as long as a look the time between two is: with many
	// descriptors an old system takes its time to count them.
	lookShare = 200
)

// unknown is a figure that the system doesn't tell.
const unknown = -1

// figures are what a process has and has done, or unknown.
type figures struct {
	goroutines, fds int64
	resident        int64 // bytes of memory
	syscalls        int64 // of read and write, since the process began
}

// raise has each be the greater one, and syscalls the later one.
func (f *figures) raise(now figures) {
	f.goroutines = max(f.goroutines, now.goroutines)
	f.fds = max(f.fds, now.fds)
	f.resident = max(f.resident, now.resident)
	f.syscalls = now.syscalls
}

// since is what memory and syscalls have grown by, the others as they are.
func (f figures) since(before figures) figures {
	grown := func(now, before int64) int64 {
		if now == unknown || before == unknown {
			return unknown
		}
		return max(0, now-before)
	}
	f.resident = grown(f.resident, before.resident)
	f.syscalls = grown(f.syscalls, before.syscalls)
	return f
}

// known returns a figure as a Result has it.
func known(n int64) *int64 {
	if n == unknown {
		return nil
	}
	return &n
}

// A watch is a goroutine that looks at this process every so often.
type watch struct {
	stopped chan struct{}
	seen    chan figures
}

// startWatch starts one. What the process has now is what it grows from.
func startWatch() watch {
	w := watch{make(chan struct{}), make(chan figures, 1)}
	p := openProcess()
	before := p.look()
	go func() {
		most := before
		timer := time.NewTimer(lookEvery)
		defer timer.Stop()
		for on := true; on; {
			select {
			case <-timer.C:
			case <-w.stopped:
				on = false
			}
			begun := time.Now()
			most.raise(p.look())
			timer.Reset(max(lookEvery, lookShare*time.Since(begun)))
		}
		p.close()
		w.seen <- most.since(before)
	}()
	return w
}

// stop takes a last look and returns the most that was seen of anything, memory and syscalls
// since the start.
func (w watch) stop() figures {
	close(w.stopped)
	return <-w.seen
}

// look returns the figures of now.
func (p *process) look() figures {
	return figures{int64(runtime.NumGoroutine()), p.fds(), p.resident(), p.syscalls()}
}
