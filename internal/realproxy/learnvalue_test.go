//go:build proxies && unix

package realproxy

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/pool"
)

const (
	valueIdle  = 3 * time.Second
	valueTime  = 40 * time.Second
	valueLanes = 20
)

// POSTs at gaps of up to twice the timeout teach it, and then none goes out on a connection
// that has been idle for longer than the limit that follows.
func TestLearntTimeoutIsTheProxys(t *testing.T) {
	for _, shared := range []bool{false, true} {
		name := map[bool]string{false: "a transport each", true: "one transport"}[shared]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, variant{frontproxy.Nginx, frontproxy.H1, relayDelay}, valueIdle)
			f := r.untold("", valueLanes, func() time.Duration { return rand.N(2 * valueIdle) })
			if shared {
				f = f.shared()
			}
			l := &learners{rig: r}
			l.run(t, f)
			o := judge(f.rec, f.client, r.executions())
			logTable(t, o)
			o.wantNeverTwice(t)
			l.check(t, f.client.(*connwise).pools)
			f.close(t)
		})
	}
}

// Learners are the lanes of a fleet, each of which notes what its pool knew as it sent.
type learners struct {
	rig *rig

	mu    sync.Mutex
	known []informed
}

// An informed request is one that was sent when the limit was known.
type informed struct {
	attempt
	idle, limit time.Duration
}

func (l *learners) run(t *testing.T, f fleet) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range f.lanes {
		rt := f.laneTransport(t)
		pools := f.client.(*connwise).pools
		wg.Go(func() { l.lane(rt, pools[len(pools)-1], f, stop) })
	}
	time.AfterFunc(valueTime, func() { close(stop) })
	wg.Wait()
}

func (l *learners) lane(rt http.RoundTripper, p *pool.Transport, f fleet, stop <-chan struct{}) {
	for pause(f.gap(), stop) {
		before := limitOf(p)
		traced := &idleTrace{base: rt}
		a := l.rig.sendAfter(traced, http.MethodPost, f.rec, time.Time{})
		if before > 0 {
			l.mu.Lock()
			l.known = append(l.known, informed{a, traced.idle, max(before, limitOf(p))})
			l.mu.Unlock()
		}
	}
}

// limitOf is the limit that was learnt, zero before.
func limitOf(p *pool.Transport) time.Duration {
	hosts := p.Stats().Hosts
	if len(hosts) == 0 || hosts[0].LearntIdle == 0 {
		return 0
	}
	return hosts[0].IdleLimit
}

// An idleTrace notes how long the connections of a request had been idle: the longest. Those
// that had carried none before have another limit.
type idleTrace struct {
	base http.RoundTripper
	idle time.Duration
}

// RoundTrip sends one request at a time.
func (i *idleTrace) RoundTrip(req *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			i.idle = max(i.idle, info.IdleTime)
		}
	}}
	return i.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
}

func (l *learners) check(t *testing.T, pools []*pool.Transport) {
	t.Helper()
	reused := 0
	for _, a := range l.known {
		if a.err != nil {
			t.Errorf("POST %d failed though the limit was known: %v", a.id, a.err)
		}
		if a.idle >= a.limit {
			t.Errorf("POST %d went out on a connection idle for %v, and the limit is %v", a.id, a.idle, a.limit)
		}
		if a.idle > 0 {
			reused++
		}
	}
	t.Logf("%d requests with a known limit, %d of them on a connection that had been idle", len(l.known), reused)
	if reused == 0 {
		t.Error("no connection was reused when the limit was known")
	}
	learnt := 0
	for _, p := range pools {
		h := p.Stats().Hosts[0]
		if h.LearntIdle == 0 {
			continue
		}
		learnt++
		if h.LearntIdle < valueIdle*9/10 || h.LearntIdle > valueIdle*11/10 || h.IdleLimitSource != "learnt" {
			t.Errorf("learnt %v, limit %v (%s), and the timeout is %v", h.LearntIdle, h.IdleLimit, h.IdleLimitSource, valueIdle)
		}
	}
	if 4*learnt < 3*len(pools) {
		t.Errorf("%d of %d pools learnt the timeout", learnt, len(pools))
	}
}
