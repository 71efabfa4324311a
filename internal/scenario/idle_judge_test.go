package scenario

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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
// measures by how much a goroutine wakes up late. Where that is more than the test can bear,
// what went wrong proves nothing.
type judge struct {
	*testing.T
	bears time.Duration
	stop  chan struct{}
	worst chan time.Duration

	mu     sync.Mutex
	faults []string
}

// attempts is how often a test is tried on a machine that doesn't keep up.
const attempts = 3

// judged runs test, and again if something went wrong while the machine was held up for
// longer than the test bears.
func judged(t *testing.T, bears time.Duration, test func(*judge)) {
	t.Helper()
	for i := 1; i <= attempts; i++ {
		again := false
		t.Run("attempt "+strconv.Itoa(i), func(t *testing.T) {
			j := &judge{T: t, bears: bears, stop: make(chan struct{}), worst: make(chan time.Duration)}
			go j.measure()
			defer func() { again = j.end() }() // before the rig's cleanup
			test(j)
		})
		if !again {
			return
		}
	}
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
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// end says what the faults are: failures, or the machine's.
func (j *judge) end() (again bool) {
	close(j.stop)
	worst := <-j.worst
	if len(j.faults) == 0 {
		return false
	}
	if worst > j.bears {
		j.Logf("the machine was held up for %v, this test bears %v:\n%s", worst, j.bears, strings.Join(j.faults, "\n"))
		return true
	}
	for _, f := range j.faults {
		j.T.Error(f)
	}
	return false
}
