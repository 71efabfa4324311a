package scenario

import (
	"errors"
	"net/http"
	"syscall"
	"testing"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// Retries can be switched off, for a transport and for a call, and on again. Whoever switches them
// off is still told what is proven.

// A control is where retries are switched off or on.
type control struct {
	name   string
	policy retry.Policy
	call   func(*call)
	on     bool
}

var controls = []control{
	{"off for the transport", retry.Off(), func(*call) {}, false},
	{"off for the call", quick(retry.Default()), under(retry.Off()), false},
	{"on for the call", retry.Off(), under(quick(retry.Default())), true},
}

// under makes a call go by a policy of its own.
func under(p retry.Policy) func(*call) {
	return func(c *call) { c.Request = c.WithContext(retry.WithPolicy(c.Context(), p)) }
}

func TestRetriesAreSwitchedOffAndOnForACall(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, ctl := range controls {
			for i, method := range methods {
				name := topNames[i%len(topNames)]
				p := r.peer(crosses(l))
				tr := r.pool(pool.Config{})
				do := tops[name](&retry.Transport{Base: tr, Policy: ctl.policy})
				do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
				c, rep := reported(newCall(t.Context(), method, p.url, noBody))
				c.Header.Set("Idempotency-Key", c.id)
				ctl.call(c)
				err := sendAny(do, c)
				want := map[bool]int{true: 1}[ctl.on]
				if p.count(c.id) != want || rep.Retries != want || tr.Stats().Total.Sent != uint64(2+want) {
					t.Errorf("%s, %s by %s: executed %d times, %d retries, %d sent: %v", ctl.name, method, name, p.count(c.id), rep.Retries, tr.Stats().Total.Sent, err)
				}
				if !ctl.on {
					wantAmbiguous(t, err, true)
				}
				do.must(t, newCall(t.Context(), http.MethodPost, p.url, replayable)) // the next call isn't concerned
			}
		}
	})
}

// One attempt, and the proof in the error: who asks for no retries can make their own.
func TestWithRetriesOffForACallTheProofIsStillTold(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			s := &shedding{n: -1}
			p := r.h2peer(peer.H2Options{Handler: s.serve})
			rt := &retry.Transport{Base: r.h2pool(pool.Config{})}
			c, rep := reported(newPatient(t, method, p.url, replayable))
			under(retry.Off())(c)
			e := wantPhase(t, method, doer(rt.RoundTrip).send(c), pool.PhaseRefused)
			if !e.Unprocessed() || len(s.gaps()) != 0 || e.Resent != 0 || rep.Retries != 0 || rep.Attempts != nil {
				t.Errorf("%s: %+v; sent %d times, %+v", method, e, len(s.gaps())+1, rep)
			}
			if n := rt.Stats().Refused[retry.ReasonOff]; n != 1 {
				t.Errorf("%s: %d decisions by the switch", method, n)
			}
		}
	})
	eachMode(t, func(t *testing.T, r *rig) {
		for _, method := range methods {
			dials := 0
			tr := r.pool(pool.Config{Base: dialScript(func(int) error { dials++; return syscall.ECONNREFUSED })})
			c := newCall(t.Context(), method, "http://"+dead(t), oneShot)
			under(retry.Off())(c)
			err := over(tr, quick(retry.Default())).send(c)
			if e := poolError(t, err); dials != 1 || !e.Unprocessed() || !errors.Is(err, syscall.ECONNREFUSED) || c.body.reads.Load() != 0 {
				t.Errorf("%s: %d dials: %+v", method, dials, e)
			}
		}
	})
}
