//go:build proxies && unix

package realproxy

import (
	"net/http"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A guarded client is net/http with connections from a pool.Guard that knows the proxy's idle
// timeout, and maybe with the retry layer on top.
type guarded struct {
	*netHTTP
	idle   time.Duration
	retry  bool
	guards []*pool.Guard
}

func (c *guarded) transport(t *testing.T) http.RoundTripper {
	t.Helper()
	g, err := pool.NewGuard(pool.GuardConfig{ProxyIdleTimeout: c.idle})
	if err != nil {
		t.Fatal(err)
	}
	c.guards = append(c.guards, g)
	rt := c.base.Clone()
	rt.DialContext = g.DialContext
	c.made = append(c.made, rt)
	if c.retry {
		return &retry.Transport{Base: rt}
	}
	return rt
}

func (c *guarded) dials() (n uint64) {
	for _, g := range c.guards {
		n += g.Stats().Total.Dials
	}
	return n
}

// close checks that the guards have heard of the end of all their connections.
func (c *guarded) close(t *testing.T) {
	t.Helper()
	c.netHTTP.close(t)
	for _, g := range c.guards {
		for deadline := time.Now().Add(frontproxy.StartTime); ; pause(time.Millisecond, nil) {
			tot := g.Stats().Total
			if tot.Opened == tot.Closed {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("a guard opened %d connections, and heard of the end of %d", tot.Opened, tot.Closed)
				return
			}
		}
	}
}

// guarded is a fleet of net/http with a Guard.
func (r *rig) guarded(name string, retry bool, lanes int, gap func() time.Duration) fleet {
	c := &guarded{netHTTP: newNetHTTP(r), idle: r.idle, retry: retry}
	return fleet{client: c, rec: &record{client: name}, lanes: lanes, gap: gap}
}

// Who keeps http.Transport and gives it a Guard loses a tenth of the POSTs at most that are
// lost without, and none with the retry layer on top.
func TestIdleRaceWithAGuard(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		own := r.guarded("Guard", false, raceLanes(), raceGap)
		retried := r.guarded("Guard, retry", true, raceLanes(), raceGap)
		edge := r.guarded("Guard, retry, gaps about its limit", true, moreLanes, gaps(0.85, 0.95))
		waves := r.guarded("Guard, retry, in waves", true, raceLanes()/2, raceGap).inWaves()
		std := r.std("", raceLanes(), raceGap)
		stdWaves := r.std(", in waves", raceLanes()/2, raceGap).inWaves()
		fleets := []fleet{own, retried, edge, waves, std, stdWaves}

		stalled := r.runEach(t, raceTime(), []fleet{own, edge, std}, []fleet{retried, waves, stdWaves})
		stalled.addSlow(std.rec)
		executed := r.executions()
		of := func(f fleet) outcome { return judge(f.rec, f.client, executed) }
		logTable(t, of(own), of(retried), of(edge), of(waves), of(std), of(stdWaves))
		of(own).wantNeverTwice(t)
		if n, bare := len(of(own).unexcused(t, stalled.atLeast(longStall))), of(std).failed; n > bare/10 {
			t.Errorf("%d POSTs failed with a Guard, and %d without", n, bare)
		}
		of(retried).wantCleanBut(t, stalled.atLeast(longStall)) // no connection is reused here
		of(edge).wantCleanBut(t, stalled)
		of(waves).wantCleanBut(t, stalled)
		v.wantOfNetHTTP(t, of(std))
		if edge.dials() >= uint64(len(edge.rec.sent)) {
			t.Error("no connection was used again below the limit")
		}
		for _, f := range fleets {
			f.close(t)
		}
	}, delayed(overHTTP1(http1Kinds...)))
}
