//go:build proxies && unix

package realproxy

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/pool"
)

const (
	kills     = 6
	killEvery = 600 * time.Millisecond
)

// A proxy that is killed cuts requests that the origin executes all the same. Here a phase
// that claims too much shows: what is said to be unprocessed must not have been executed,
// and what retry sends again on that word must not be executed twice.
func TestKilledProxyLeavesNoPOSTExecutedTwice(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		m := r.disturb(t, r.killOften)
		for _, a := range append(m.get.failures(), m.post.failures()...) {
			e, ok := errors.AsType[*pool.Error](a.err)
			switch {
			case !ok:
				t.Errorf("%s %d: %T, want a *pool.Error: %v", a.method, a.id, a.err, a.err)
			case a.method == http.MethodGet: // an attempt before the last may have been executed
			case e.Phase.Unprocessed() && m.executed.Count(a.id) > 0:
				t.Errorf("POST %d is said to be unprocessed, and was executed: %v", a.id, a.err)
			}
		}
		if m.post.ran == 0 {
			t.Error("no POST that failed was executed: the kills came to nothing")
		}
	}, overHTTP1(frontproxy.Nginx, frontproxy.HAProxy), overHTTP2(frontproxy.Nginx, frontproxy.HAProxy))
}

// killOften kills the proxy and its workers under load, and starts it again.
func (r *rig) killOften() error {
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for range kills {
		<-tick.C
		r.proxy.Kill()
		if err := r.proxy.StartAgain(); err != nil {
			return err
		}
	}
	<-tick.C
	return nil
}
