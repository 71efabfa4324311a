package bench

import (
	"sync/atomic"
	"time"
)

// timelineBins bounds the length of a timeline; what comes later is in its last bin.
const timelineBins = 600

// A Timeline counts what happened in each stretch of a round, from its beginning; the
// rounds of a row are laid over each other.
type Timeline struct {
	// BinMillis is the length of a stretch in milliseconds.
	BinMillis float64 `json:"bin_ms"`
	// Done counts the calls that got an answer in each stretch, Failed those that failed
	// in it, and Dials the connections that the peer accepted.
	Done   []int64 `json:"done"`
	Failed []int64 `json:"failed"`
	Dials  []int64 `json:"dials"`
}

// add lays another round over t.
func (t *Timeline) add(o *Timeline) {
	t.BinMillis = o.BinMillis
	t.Done = addEach(t.Done, o.Done)
	t.Failed = addEach(t.Failed, o.Failed)
	t.Dials = addEach(t.Dials, o.Dials)
}

func addEach(sum, more []int64) []int64 {
	for len(sum) < len(more) {
		sum = append(sum, 0)
	}
	for i, n := range more {
		sum[i] += n
	}
	return sum
}

// A recorder makes a Timeline of a round while it runs.
type recorder struct {
	start        time.Time
	bin          time.Duration
	done, failed [timelineBins]atomic.Int64
}

// newRecorder is for a round of that length, in about a hundred stretches.
func newRecorder(start time.Time, length time.Duration) *recorder {
	return &recorder{start: start, bin: max(length/100, time.Millisecond)}
}

func (r *recorder) binOf(at time.Time) int {
	return min(max(int(at.Sub(r.start)/r.bin), 0), timelineBins-1)
}

// timeline returns what was recorded, and the times at which connections were accepted.
func (r *recorder) timeline(accepted []time.Time) *Timeline {
	t := &Timeline{BinMillis: float64(r.bin) / 1e6}
	last := 0
	for i := range timelineBins {
		if r.done[i].Load()+r.failed[i].Load() > 0 {
			last = i
		}
	}
	for _, at := range accepted {
		last = max(last, r.binOf(at))
	}
	t.Done, t.Failed, t.Dials = make([]int64, last+1), make([]int64, last+1), make([]int64, last+1)
	for i := range t.Done {
		t.Done[i], t.Failed[i] = r.done[i].Load(), r.failed[i].Load()
	}
	for _, at := range accepted {
		if !at.Before(r.start) {
			t.Dials[r.binOf(at)]++
		}
	}
	return t
}
