package scenario

import (
	"net/http"
	"slices"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A loss has four places, and a policy that allows PUT to be repeated changes two of them: where
// some of the body was sent, and where all of it was. Before that nobody needs it, and a POST has it
// nowhere.

// losses are where an upload of a MiB is lost, on a connection that is fresh.
var losses = []struct {
	name  string
	lose  func(*peerConn)
	phase []pool.Phase // one of these
}{
	{"in the body", func(c *peerConn) { http.ReadRequest(c.br); leaveRST.by(c) }, []pool.Phase{pool.PhaseSending, pool.PhaseSent}},
	{"behind the body", func(c *peerConn) { c.whole(); leaveFIN.by(c) }, []pool.Phase{pool.PhaseSent}},
	{"in the answer's head", func(c *peerConn) { c.whole(); c.say("HTTP/1.1 200 OK\r\nX-Half: "); leaveFIN.by(c) }, []pool.Phase{pool.PhaseResponse}},
}

func TestALostUploadGoesAgainOnlyWhereAPolicySaysSo(t *testing.T) {
	puts := quick(retry.Policy{Repeatable: []string{http.MethodPut}})
	eachMode(t, func(t *testing.T, r *rig) {
		for _, loss := range losses {
			for _, stand := range stands {
				for _, tt := range []struct {
					name, method string
					policy       retry.Policy
					again        bool
				}{
					{"by default", http.MethodPut, quick(retry.Default()), false},
					{"by default", http.MethodPost, quick(retry.Default()), false},
					{"by a policy for PUT", http.MethodPut, puts, true},
					{"by a policy for PUT", http.MethodPost, puts, false},
				} {
					var in inbox
					p := r.peer(func(c *peerConn) {
						if c.num > 0 {
							in.records(c)
						} else if prelude(c, stand.reused) {
							loss.lose(c)
						}
					})
					do := over(r.pool(pool.Config{}), tt.policy)
					warm(t, do, p.url, stand.reused)
					c, rep := reported(newUpload(t, t.Context(), tt.method, p.url, cargoStream, mibBody))
					err := do.send(c)
					name := label(loss.name, stand.name, tt.method, tt.name)
					if tt.again {
						wantWhole(t, name, &in, c, mibBody, err)
						if rep.Retries != 1 || !slices.Contains(loss.phase, rep.Attempts[0].Phase) || rep.Attempts[0].Reused != stand.reused {
							t.Errorf("%s: %+v", name, rep)
						}
						continue
					}
					e := poolError(t, err)
					if !slices.Contains(loss.phase, e.Phase) || e.Reused != stand.reused || e.Sent <= 0 || rep.Retries != 0 || len(in.all()) != 0 {
						t.Errorf("%s: %+v; %d retries, %d arrived again", name, e, rep.Retries, len(in.all()))
					}
				}
			}
		}
	})
}
