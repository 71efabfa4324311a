package scenario

import (
	"net/http"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A server that restarts closes all its connections as requests come. Where one has crossed a
// request, the others are no better: the next attempt goes to a new connection.
func TestTheNextAttemptGoesToANewConnection(t *testing.T) {
	const kept = 3
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, limit := range []int{0, kept} {
			for _, next := range []retry.NextConn{retry.NextElsewhere, retry.NextFresh, retry.NextAny} {
				arrived, begun := make(chan struct{}, kept), make(chan struct{})
				p := r.peer(func(c *peerConn) {
					if c.num >= kept {
						c.serveWhole()
						return
					}
					q, err := c.whole()
					if err != nil {
						return
					}
					arrived <- struct{}{}
					<-begun
					if c.answer(q) == nil && c.arrives() {
						l.by(c)
					}
				})
				policy := quick(retry.Default())
				policy.NextConn = next
				do := over(r.pool(pool.Config{MaxConnsPerHost: limit}), policy)
				var calls []<-chan error
				for range kept {
					calls = append(calls, do.start(newPatient(t, http.MethodPost, p.url, replayable)))
					<-arrived // each on a connection of its own
				}
				close(begun)
				all(t, calls...)
				c, rep := reported(newPatient(t, http.MethodGet, p.url, noBody))
				err := do.send(c)
				if next == retry.NextAny {
					if err == nil || rep.Retries != 2 {
						t.Errorf("any connection: %d retries, %v; the other two were lost as well", rep.Retries, err)
					}
					continue
				}
				if err != nil || rep.Retries != 1 || p.conns() != kept+1 || rep.Attempts[1].Reused {
					t.Errorf("limit %d, %v: %d retries, %d connections, %v", limit, next, rep.Retries, p.conns(), err)
				}
			}
		}
	})
}
