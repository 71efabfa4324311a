package scenario

import (
	"net/http"
	"sync/atomic"
	"testing"

	"example.com/connwise/pool"
)

// crowded leaves tr with n idle connections to s, which was made for so many, or a few more:
// on a busy machine a handshake may take so long that it gets a second one beside it.
func crowded(t *testing.T, tr *pool.Transport, s *site, url string, n int) {
	t.Helper()
	together(n, func(i int) {
		if err := doer(tr.RoundTrip).send(newPatient(t, http.MethodPost, url, bodyKinds[i%len(bodyKinds)])); err != nil {
			t.Error(err)
		}
	})
	if !within(restTime, func() bool { g := gauges(tr); return g.Idle >= n && g == counts{Open: g.Idle, Idle: g.Idle} }) {
		t.Fatalf("after %d requests at once: %+v", n, gauges(tr))
	}
}

// A proxy is restarted and closes what is idle, all at one moment. Nobody who sends then,
// even what can't be sent twice, notices.
func TestAMassCloseCostsNoRequest(t *testing.T) {
	long(t)
	eachFarewell(t, func(t *testing.T, r *rig, sp speech, f farewell) {
		n := map[string]int{"FIN": 500}[f.name]
		switch {
		case sp.tls: // handshakes take their time
			n = max(n/10, 12)
		case n == 0:
			n = 50
		}
		s := r.site(sp, manners{crowd: n})
		tr := r.client(sp, pool.Config{})
		crowded(t, tr, s, s.url, n)
		if got := s.part(f); got < n {
			t.Fatalf("the server had %d connections open, want %d", got, n)
		}
		f.wantGone(t, tr)
		var failed atomic.Int64
		together(n, func(int) {
			if err := doer(tr.RoundTrip).send(newPatient(t, http.MethodPost, s.url, oneShot)); err != nil {
				failed.Add(1)
				t.Error(err)
			}
		})
		s.once(t, 2*n)
		if total := tr.Stats().Total; total.Failed != 0 || failed.Load() > 0 {
			t.Errorf("%d of %d requests failed", failed.Load(), n)
		}
	})
}
