package bench

import (
	"sync/atomic"
	"time"
)

// timelineBins bounds the length of a Timeline, and longestBin the stretches in which it is
// recorded: how long a round takes isn't always known before.
const (
	timelineBins = 600
	longestBin   = 100 * time.Millisecond
)

// A Timeline counts what happened in each stretch of a round, from its beginning; the
// rounds of a row are laid over each other.
type Timeline struct {
	// BinMillis is the length of a stretch in milliseconds.
	BinMillis float64 `json:"bin_ms"`
	// Done counts the calls that got an answer in each stretch, Failed those that failed
	// in it, and Dials the connections that the peer accepted, the first 131,072 of a round.
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

// shorten makes stretches twice as long until there aren't too many.
func (t *Timeline) shorten() {
	for t != nil && len(t.Done) > timelineBins {
		t.BinMillis *= 2
		t.Done, t.Failed, t.Dials = halved(t.Done), halved(t.Failed), halved(t.Dials)
	}
}

func halved(counts []int64) []int64 {
	sums := make([]int64, (len(counts)+1)/2)
	for i, n := range counts {
		sums[i/2] += n
	}
	return sums
}

// A recorder makes a Timeline of a round while it runs.
type recorder struct {
	start        time.Time
	bin          time.Duration
	done, failed []atomic.Int64 // what comes later is in the last
}

// newRecorder is for a round that may take so long, in a hundred stretches or more. The
// last calls may end later.
func newRecorder(start time.Time, length time.Duration) *recorder {
	bin := min(max(length/100, time.Millisecond), longestBin)
	bins := max(timelineBins, int((length+overdue)/bin))
	return &recorder{start: start, bin: bin, done: make([]atomic.Int64, bins), failed: make([]atomic.Int64, bins)}
}

func (r *recorder) binOf(at time.Time) int {
	return min(max(int(at.Sub(r.start)/r.bin), 0), len(r.done)-1)
}

// timeline returns what was recorded, and the times at which connections were accepted.
func (r *recorder) timeline(accepted []time.Time) *Timeline {
	t := &Timeline{BinMillis: float64(r.bin) / 1e6}
	last := 0
	for i := range r.done {
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
