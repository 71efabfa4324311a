package scenario

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// shortTime is what callers have, which is less than a dial takes.
const shortTime = 20 * time.Millisecond

// Callers have less time than a handshake takes, wherever on their way it is slow. It isn't
// in vain: the dials that they leave go on, serve those who come later, and are few. So it is
// for callers who come one after the other, with gaps between them, as for many at a time.
func TestAHandshakeThatOutlastsItsCallersIsNotInVain(t *testing.T) {
	onHeldWays(t, func(t *testing.T, r *rig, s *site, w heldWay) {
		for _, crowd := range []int{1, 6} {
			tr, url, g := w.by(r, s)
			for rounds := 1; rounds < 3 || !g.keeps(); rounds++ {
				if rounds > 30 {
					t.Fatalf("no dial is left of %d, with %d callers at a time", tr.Stats().Total.Dials, crowd)
				}
				together(crowd, func(i int) { fallShort(t, tr, url, bodyKinds[i%len(bodyKinds)]) })
				pause(2 * shortTime) // longer than a silent proxy is let wait for nobody
			}
			dials := tr.Stats().Total.Dials
			if crowd == 1 && dials > 8 {
				t.Errorf("%d dials for callers one after the other", dials)
			}
			g.open()
			if !within(patience, func() bool { return gauges(tr).Idle > 0 }) {
				t.Fatalf("nothing has come of %d dials: %+v", dials, gauges(tr))
			}
			for i := range 6 {
				doer(tr.RoundTrip).must(t, newPatient(t, http.MethodPost, url, bodyKinds[i%len(bodyKinds)]))
			}
			// A server that takes one stream at a time may need another for the next.
			if n := tr.Stats().Total.Dials - dials; n > 1 || n > 0 && !s.h2 {
				t.Errorf("%d dials, and %d more then", dials, n)
			}
		}
	})
}

// fallShort sends a request whose time is too short, and checks what is said.
func fallShort(t *testing.T, tr *pool.Transport, url string, kind bodyKind) {
	ctx, cancel := context.WithTimeout(t.Context(), shortTime)
	defer cancel()
	c := newCall(ctx, http.MethodPost, url, kind)
	err := doer(tr.RoundTrip).send(c)
	untouched(t, string(kind), c)
	if e := poolError(t, err); !errors.Is(err, context.DeadlineExceeded) || !e.Timeout() || !e.Phase.Unprocessed() {
		t.Errorf("%s: %v", kind, err)
	}
}
