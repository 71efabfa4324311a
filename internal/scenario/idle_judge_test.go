package scenario

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A tester is what helpers need of a test that may be lenient.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Context() context.Context
}

// A judge is a test whose times are only worth something while the machine keeps up. It
// measures by how much a goroutine wakes up late; where that is more than the test can
// bear, what went wrong is logged and is no failure.
type judge struct {
	*testing.T
	bears time.Duration
	stop  chan struct{}
	worst chan time.Duration

	mu     sync.Mutex
	faults []func(log bool)
}

// newJudge is called before the test's rig is made, and end before the test is over.
func newJudge(t *testing.T, bears time.Duration) *judge {
	j := &judge{T: t, bears: bears, stop: make(chan struct{}), worst: make(chan time.Duration)}
	go j.measure()
	return j
}

// measure wakes up a hundred times a second.
func (j *judge) measure() {
	const every = 10 * time.Millisecond
	var worst time.Duration
	for {
		due := time.Now().Add(every)
		select {
		case <-time.After(every):
			worst = max(worst, time.Since(due))
		case <-j.stop:
			j.worst <- worst
			return
		}
	}
}

// Errorf notes a fault.
func (j *judge) Errorf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, func(log bool) {
		if log {
			j.T.Logf(format, args...)
		} else {
			j.T.Errorf(format, args...)
		}
	})
}

// end says what the faults are: failures, or the machine's.
func (j *judge) end() {
	close(j.stop)
	worst := <-j.worst
	if len(j.faults) > 0 && worst > j.bears {
		j.T.Logf("the machine was held up for %v, this test bears %v:", worst, j.bears)
	}
	for _, say := range j.faults {
		say(worst > j.bears)
	}
}
