package bench

import (
	"sync"
	"testing"
	"time"
)

func TestFiguresOfTwoRounds(t *testing.T) {
	a := usage{requests: 10, peaks: &figures{goroutines: 5, fds: 7, resident: 9, syscalls: 20}}
	b := usage{requests: 30, peaks: &figures{goroutines: 6, fds: 3, resident: 8, syscalls: 60}}
	var sum usage
	sum.add(a)
	sum.add(b)
	var r Result
	sum.setPeaks(&r.PeakGoroutines, &r.PeakFDs, &r.PeakRSS, &r.Syscalls)
	if *r.PeakGoroutines != 6 || *r.PeakFDs != 7 || *r.PeakRSS != 9 || *r.Syscalls != 2 {
		t.Errorf("%d goroutines, %d descriptors, %d bytes, %v syscalls; want 6, 7, 9, 2", *r.PeakGoroutines, *r.PeakFDs, *r.PeakRSS, *r.Syscalls)
	}
	if *a.peaks != (figures{5, 7, 9, 20}) {
		t.Errorf("adding changed a round's figures: %+v", *a.peaks)
	}
	r = Result{}
	none := figures{3, unknown, unknown, unknown}
	sum = usage{requests: 1}
	sum.add(usage{peaks: &none})
	sum.add(usage{peaks: &none})
	sum.setPeaks(&r.PeakGoroutines, &r.PeakFDs, &r.PeakRSS, &r.Syscalls)
	if *r.PeakGoroutines != 3 || r.PeakFDs != nil || r.PeakRSS != nil || r.Syscalls != nil {
		t.Errorf("%d goroutines and %v, %v, %v; want 3 and what the system doesn't tell", *r.PeakGoroutines, r.PeakFDs, r.PeakRSS, r.Syscalls)
	}
}

// TestWatchSeesWhatComesAndGoes holds a watch against goroutines that have ended when it is
// stopped.
func TestWatchSeesWhatComesAndGoes(t *testing.T) {
	w := startWatch()
	release := make(chan struct{})
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() { <-release })
	}
	<-time.After(3 * lookEvery)
	close(release)
	wg.Wait()
	if seen := w.stop(); seen.goroutines < 1000 {
		t.Errorf("%d goroutines at most, want 1000 and more", seen.goroutines)
	}
}
