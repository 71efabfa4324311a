package pool

import (
	"slices"
	"sync/atomic"
	"time"
)

const (
	histogramBounds  = 15
	histogramBuckets = histogramBounds + 1
)

// bucketBounds go from a dial within a rack to a request that waited for half a minute.
var bucketBounds = [histogramBounds]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// A Histogram counts times by their length. Counts[i] has those of Stats.Bounds[i] at most
// that are longer than Stats.Bounds[i-1]; the last one has those longer than all bounds. It
// isn't cumulative.
type Histogram struct {
	Counts [histogramBuckets]uint64 `json:"counts"`
	Sum    time.Duration            `json:"sum_ns"` // of all of them
}

// Count is how many times were counted.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

func (h *Histogram) observe(d time.Duration) {
	h.Counts[bucketOf(d)]++
	h.Sum += d
}

func bucketOf(d time.Duration) int {
	i, _ := slices.BinarySearch(bucketBounds[:], d)
	return i
}

// A sharedHistogram is one that needs no lock.
type sharedHistogram struct {
	counts [histogramBuckets]atomic.Uint64
	sum    atomic.Int64
}

func (h *sharedHistogram) observe(d time.Duration) {
	h.counts[bucketOf(d)].Add(1)
	h.sum.Add(int64(d))
}

func (h *sharedHistogram) load() (s Histogram) {
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	s.Sum = time.Duration(h.sum.Load())
	return s
}
