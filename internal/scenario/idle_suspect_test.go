package scenario

import (
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// Something on the way has forgotten the connections and tells nobody. One request finds
// out, by its timeout. Those that were idle for as long as the one it was on aren't trusted
// any more: whoever comes next doesn't wait.
func TestOneTimeoutIsEnoughForConnectionsThatWereForgotten(t *testing.T) {
	const n, limit = 5, 200 * time.Millisecond
	for _, sp := range speeches {
		t.Run(sp.name, func(t *testing.T) {
			r := newRig(t, sp.mode)
			s := r.site(sp, manners{crowd: n})
			way := r.relay(s.addr)
			tr := r.client(sp, pool.Config{Base: &http.Transport{
				ResponseHeaderTimeout: limit,
				DialContext:           hookTo(way.addr),
			}})
			crowded(t, tr, s, s.url, n)
			pause(150 * time.Millisecond) // a timeout on a connection that was busy says nothing of others
			if got := way.forget(); got < n {
				t.Fatalf("%d flows, want %d", got, n)
			}
			do := doer(tr.RoundTrip)
			c := newPatient(t, http.MethodPost, s.url, oneShot)
			start := time.Now()
			pe := poolError(t, do.send(c))
			if pe.Phase != pool.PhaseSent || !pe.Timeout() || !pe.Reused || s.count(c.id) != 0 {
				t.Errorf("the first: %#v", pe)
			}
			if took := time.Since(start); took < limit || took > limit+time.Second {
				t.Errorf("the first took %v, with a limit of %v", took, limit)
			}
			for i := range n - 1 {
				if err := do.send(newPatient(t, http.MethodPost, s.url, bodyKinds[i%len(bodyKinds)])); err != nil {
					t.Errorf("request %d behind it: %v", i, err)
				}
			}
			s.once(t, 2*n-1)
		})
	}
}
