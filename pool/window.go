package pool

import "time"

// A dialWindow says how many dials to a host may be in flight. A burst that finds too few
// connections doesn't dial for every request: where handshakes queue for the CPU of either
// side, more of them at a time only come later, and connections that are there already
// could serve the requests meanwhile. Where a handshake is nothing but waiting for a far
// peer, as many as the burst needs cost no more than one. Which of the two it is shows in the
// time that dials take, as a full queue shows in TCP Vegas: while they take about as long as the
// best, the window grows by one with each, which doubles it in a round trip; while they
// take longer, it shrinks by one with each. Where even few are late, that is no queue: the
// best is taken to be longer, bit by bit. The zero dialWindow is a host's of which
// nothing is known yet.
//
// It is guarded by host.mu.
type dialWindow struct {
	limit  int           // zero: firstDials
	best   time.Duration // what a dial takes when nothing queues, as far as that was seen; zero: unknown
	bestAt time.Time     // when that was
	failed bool          // the last dial did
	lowAt  time.Time     // since when no more than fewDials are let in flight; zero: there are more
}

const (
	// firstDials is how many dials go to a host that has not accepted any yet.
	firstDials = 16
	// fewDials keep a CPU busy at both ends.
	fewDials = 4
	// burstDials may follow the first one that succeeded, if that took long: for a dial of a few
	// milliseconds another round is cheap, but not for one over an ocean.
	burstDials = 128
	burstAfter = 40 * time.Millisecond
	mostDials  = 1024
	// lowShare is the share by which the best gives way to a dial that is late for no queue of
	// this host's making: after half a dozen of them such a time is no longer late.
	lowShare = 8
	// dialSlack is by how much more than twice the best a dial may be late: a scheduler's
	// hiccup is no queue.
	dialSlack = 2 * time.Millisecond
	// bestMemory is after how long the best is forgotten: the way to the peer may have become
	// longer.
	bestMemory = 30 * time.Second
)

func (w *dialWindow) size() int {
	if w.limit == 0 {
		return firstDials
	}
	return w.limit
}

// succeeded notes that a dial took so long. full says that the window was in use.
func (w *dialWindow) succeeded(took time.Duration, full bool, now time.Time) {
	defer w.noteLow(now)
	fresh := w.best == 0 || w.failed
	w.failed = false
	if w.best == 0 || took < w.best || now.Sub(w.bestAt) > bestMemory {
		w.best, w.bestAt = took, now
	}
	late := took > 2*w.best+dialSlack
	switch {
	case fresh:
		w.limit = max(w.limit, startDials(w.best))
	case late:
		w.limit = max(w.size()-1, fewDials)
		if !w.lowAt.IsZero() && !now.Add(-took).Before(w.lowAt) {
			w.best += (took - w.best) / lowShare // the way has become longer
		}
	case full:
		w.limit = min(w.size()+1, mostDials)
	}
}

// noteLow notes whether few dials are in flight: those that begin from then on don't wait for
// each other.
func (w *dialWindow) noteLow(now time.Time) {
	switch {
	case w.size() > fewDials:
		w.lowAt = time.Time{}
	case w.lowAt.IsZero():
		w.lowAt = now
	}
}

// startDials is the window after the first dial, which took so long.
func startDials(took time.Duration) int {
	return min(max(int(burstDials*took/burstAfter), firstDials), burstDials)
}

// failedOnce notes that a dial has failed: a host that refuses one will refuse the next.
func (w *dialWindow) failedOnce() {
	w.failed = true
	w.limit = max(w.size()/2, 1)
}

// windowOpenLocked tells whether one more dial may be in flight. Those that take long queue for
// nothing, and don't count in a small window: all may hang. What hooks do whose dials have
// ended counts (losthook.go), but leaves room for one.
func (h *host) windowOpenLocked() bool {
	size := h.window.size()
	most := max(size, firstDials)
	return h.dialing-h.slow < max(size-h.lost, 1) && h.dialing < max(most-h.lost, 1)
}
