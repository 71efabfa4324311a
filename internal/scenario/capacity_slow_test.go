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
		const rounds = 6
		for _, crowd := range []int{1, 6} {
			tr, url, g := w.by(r, s)
			for range rounds {
				together(crowd, func(i int) { fallShort(t, tr, url, bodyKinds[i%len(bodyKinds)]) })
				pause(2 * shortTime) // longer than a silent proxy is let wait for nobody
			}
			dials := tr.Stats().Total.Dials
			if most := uint64(rounds - 1); crowd == 1 && dials > most {
				t.Errorf("%d dials for %d callers one after the other", dials, rounds)
			}
			if g.at.Load() == 0 {
				t.Errorf("no dial is left of %d, with %d callers at a time", dials, crowd)
			}
			g.open()
			if !within(patience, func() bool { return gauges(tr).Idle > 0 }) {
				t.Errorf("nothing has come of %d dials: %+v", dials, gauges(tr))
				continue
			}
			for i := range 6 {
				doer(tr.RoundTrip).must(t, newPatient(t, http.MethodPost, url, bodyKinds[i%len(bodyKinds)]))
			}
			if n := tr.Stats().Total.Dials; n != dials {
				t.Errorf("%d dials, and %d more then, with %d callers at a time: %+v", dials, n-dials, crowd, tr.Stats().Hosts)
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
