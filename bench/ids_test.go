package bench

import (
	"errors"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// TestARoundEndsBeforeItsIDsAreTooMany: of a failed call that isn't remembered it would be said
// that it was lost.
func TestARoundEndsBeforeItsIDsAreTooMany(t *testing.T) {
	fail := map[string]func(*rig, uint64){
		"failed":  func(r *rig, id uint64) { r.failedCall(id, time.Now(), errors.New("broken")) },
		"not 2xx": func(r *rig, id uint64) { r.unexpected(id, errors.New("status 503")) },
	}
	for name, fail := range fail {
		r := &rig{limit: 1 << 40, end: time.Now().Add(time.Hour)}
		most := maxFailedIDs - 2*mostOpen
		r.failed, r.notOK = make([]uint64, most-2), make([]uint64, most-2)
		for id := range uint64(3) { // the third was under way when the second failed
			if n := r.more(t.Context(), 1); n == 0 != (id == 2) {
				t.Errorf("%s: %d more may be made after %d", name, n, id)
			}
			fail(r, id)
		}
		if n := max(len(r.failed), len(r.notOK)); n != most+1 {
			t.Errorf("%s: %d are kept, want %d", name, n, most+1)
		}
	}
}

// TestWhatAProxyAnsweredIsNotLost: an answer that isn't 2xx doesn't say that a call was executed.
func TestWhatAProxyAnsweredIsNotLost(t *testing.T) {
	r := &rig{latency: newLatencies()}
	r.ids.next("GET")
	r.ids.next("GET")
	r.unexpected(2, errors.New("status 502"))
	tl := tally{latency: newHistogram()}
	tl.add(r, &peer.Report{Executed: peer.Executions{{First: 1, N: 1, Count: 1}}})
	if tl.notOK != 1 || *tl.record != (record{}) {
		t.Errorf("%d not 2xx, the record is %+v; want 1 and nothing", tl.notOK, *tl.record)
	}
}
