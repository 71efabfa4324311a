package bench

import "time"

// lateEvery is the time between two looks at the clock.
const lateEvery = 2 * time.Millisecond

// latest returns, when stop is closed, the longest that a timer of this process was late
// meanwhile: for so long the machine, or this process, was busy with other things. A client
// that was to send in time before a proxy's timeout may then have sent too late.
func latest(stop <-chan struct{}) time.Duration {
	tick := time.NewTicker(lateEvery)
	defer tick.Stop()
	var most time.Duration
	for last := time.Now(); ; {
		select {
		case <-stop:
			return most
		case <-tick.C:
		}
		now := time.Now()
		most = max(most, now.Sub(last)-lateEvery)
		last = now
	}
}

// watched runs f and notes how late timers were meanwhile.
func (r *rig) watched(f func()) {
	stop, late := make(chan struct{}), make(chan time.Duration, 1)
	go func() { late <- latest(stop) }()
	f()
	close(stop)
	r.late = max(r.late, <-late)
}
