package bench

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longestLatency is the most that a histogram tells apart.
const longestLatency = time.Minute

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(100, int64(longestLatency), 3) // nanoseconds
}

// latencies are a histogram that many callers record in: in parts, so that they don't
// wait for each other, which would be counted as their clients'.
type latencies struct {
	parts [8]struct {
		mu sync.Mutex
		h  *hdrhistogram.Histogram
		_  [64]byte // parts don't share a cache line
	}
}

func newLatencies() *latencies {
	l := new(latencies)
	for i := range l.parts {
		l.parts[i].h = newHistogram()
	}
	return l
}

// record adds what one call took. Callers with different numbers hardly meet.
func (l *latencies) record(caller int, d time.Duration) {
	p := &l.parts[caller%len(l.parts)]
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.h.RecordValue(int64(min(d, longestLatency))) // it's in the histogram's range
}

func (l *latencies) reset() {
	for i := range l.parts {
		p := &l.parts[i]
		p.mu.Lock()
		p.h.Reset()
		p.mu.Unlock()
	}
}

// sum returns all of them in one histogram.
func (l *latencies) sum() *hdrhistogram.Histogram {
	sum := newHistogram()
	for i := range l.parts {
		p := &l.parts[i]
		p.mu.Lock()
		if p.h != nil {
			sum.Merge(p.h)
		}
		p.mu.Unlock()
	}
	return sum
}

// compact leaves one histogram of them. Nothing may be recorded afterwards.
func (l *latencies) compact() {
	sum := l.sum()
	for i := range l.parts {
		l.parts[i].h = nil
	}
	l.parts[0].h = sum
}

// merge adds another histogram.
func (l *latencies) merge(h *hdrhistogram.Histogram) {
	p := &l.parts[0]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.h.Merge(h)
}
