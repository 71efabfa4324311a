//go:build proxies && unix

package realproxy

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

const (
	moreLanes = 20
	longRace  = 30 * time.Second // a race that lasts as long teaches the timeout by the way
)

// raceLanes is how many lanes race against the proxy's timeout: CONNWISE_LANES, 40 by default.
var raceLanes = sync.OnceValue(func() int {
	n, err := strconv.Atoi(os.Getenv("CONNWISE_LANES"))
	if err != nil || n < 1 {
		return 40
	}
	return n
})

// raceTime is for how long they do: CONNWISE_RACE_TIME, 6 s by default.
var raceTime = sync.OnceValue(func() time.Duration {
	return envDuration("CONNWISE_RACE_TIME", 6*time.Second)
})

// envDuration is what the environment says, or the default.
func envDuration(name string, otherwise time.Duration) time.Duration {
	d, err := time.ParseDuration(os.Getenv(name))
	if err != nil || d <= 0 {
		return otherwise
	}
	return d
}

// A lesson is the time in which clients learn the proxy's timeout.
type lesson struct {
	lasts time.Duration
	gap   func() time.Duration
}

// lesson is 30 s of the race itself, if that lasts as long. Else the gaps are beyond the
// timeout, so that each teaches: in the race a lane with a connection of its own sees a close
// in every fourth gap or so.
func (v variant) lesson() lesson {
	beyond := gaps(v.kind.Closed(), v.kind.Closed()+0.2)
	switch {
	case raceTime() >= longRace:
		return lesson{longRace, v.raceGaps()}
	case v.kind.Coarse:
		return lesson{20 * time.Second, beyond}
	default:
		return lesson{6 * time.Second, beyond}
	}
}

// then is the lesson's gap, and the other one's after it. The lesson begins with the first call.
func (l lesson) then(gap func() time.Duration) func() time.Duration {
	begin := sync.OnceValue(time.Now)
	return func() time.Duration {
		if time.Since(begin()) < l.lasts {
			return l.gap()
		}
		return gap()
	}
}

// A fleet is lanes of one client, each of which sends one POST after the other with a gap
// in between.
type fleet struct {
	client
	rec   *record
	lanes int
	gap   func() time.Duration
	share *share // nil: each lane has a transport, and so a connection, of its own
}

// A share is what the lanes of a fleet have in common: a transport. With inWaves the moments
// to send at are common, too. Otherwise the newest idle connection serves most requests, and
// hardly one is as old as the gap.
type share struct {
	inWaves bool

	mu    sync.Mutex
	rt    http.RoundTripper
	waves []time.Time
}

// fleet returns one of connwise that knows the proxy's idle timeout.
func (r *rig) fleet(name string, lanes int, gap func() time.Duration) fleet {
	return fleet{client: newConnwise(r), rec: &record{client: "connwise" + name}, lanes: lanes, gap: gap}
}

// untold is fleet, but it doesn't know any timeout.
func (r *rig) untold(name string, lanes int, gap func() time.Duration) fleet {
	c := newConnwise(r)
	c.cfg.ProxyIdleTimeout = 0
	return fleet{client: c, rec: &record{client: "connwise" + name}, lanes: lanes, gap: gap}
}

// confirming is untold, but POSTs ask for a sign of life where the connection was idle for
// half of the timeout.
func (r *rig) confirming(name string, lanes int, gap func() time.Duration) fleet {
	return fleet{client: newConfirming(r, r.idle/2), rec: &record{client: "connwise" + name}, lanes: lanes, gap: gap}
}

// std is a fleet of net/http.
func (r *rig) std(name string, lanes int, gap func() time.Duration) fleet {
	return fleet{client: newNetHTTP(r), rec: &record{client: "net/http" + name}, lanes: lanes, gap: gap}
}

// shared lets all lanes have one transport.
func (f fleet) shared() fleet {
	f.share = &share{}
	return f
}

// inWaves lets all lanes have one transport and send at the same moments.
func (f fleet) inWaves() fleet {
	f.share = &share{inWaves: true}
	return f
}

// total sums a counter of a connwise fleet.
func (f fleet) total(counter func(pool.Totals) uint64) uint64 {
	return f.client.(*connwise).sum(counter)
}

// laneTransport is what a lane sends with.
func (f fleet) laneTransport(t *testing.T) http.RoundTripper {
	t.Helper()
	if f.share == nil {
		return f.transport(t)
	}
	if f.share.rt == nil {
		f.share.rt = f.transport(t)
	}
	return f.share.rt
}

// wave is when the lanes send for the n-th time. The first time comes at once.
func (s *share) wave(n int, gap func() time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waves == nil {
		s.waves = append(s.waves, time.Now())
	}
	for len(s.waves) <= n {
		s.waves = append(s.waves, s.waves[len(s.waves)-1].Add(gap()))
	}
	return s.waves[n]
}

// runEach runs the groups at the same time, or if the race is a long one with many lanes one
// after the other: this machine has to follow. What belongs to several groups has the record
// of them all.
func (r *rig) runEach(t *testing.T, d time.Duration, groups ...[]fleet) *stalls {
	t.Helper()
	if raceTime() < longRace {
		all := slices.Concat(groups...)
		slices.SortFunc(all, func(a, b fleet) int { return cmp.Compare(a.rec.client, b.rec.client) })
		return r.run(t, d, slices.CompactFunc(all, func(a, b fleet) bool { return a.rec == b.rec })...)
	}
	var s stalls
	for _, g := range groups {
		s.spans = append(s.spans, r.run(t, d, g...).spans...)
	}
	return &s
}

// run sends on all lanes for d, waits until they have ended, and tells when this machine
// was too busy.
func (r *rig) run(t *testing.T, d time.Duration, fleets ...fleet) *stalls {
	t.Helper()
	stop := make(chan struct{})
	var s stalls
	var wg sync.WaitGroup
	wg.Go(func() { s.watch(stop) })
	for _, f := range fleets {
		for range f.lanes {
			rt := f.laneTransport(t)
			wg.Go(func() { r.lane(rt, f, stop) })
		}
	}
	time.AfterFunc(d, func() { close(stop) })
	wg.Wait()
	return &s
}

// lane sends one POST after the other until stop. It begins at a random moment, so that
// the lanes are spread over time; those of a wave are spread so far that the machine can
// follow if each needs a TLS handshake.
func (r *rig) lane(rt http.RoundTripper, f fleet, stop <-chan struct{}) {
	var last attempt
	if f.share != nil && f.share.inWaves {
		spread := time.Duration(f.lanes) * time.Millisecond / 2
		for n := 0; pause(time.Until(f.share.wave(n, f.gap))+rand.N(spread), stop); n++ {
			last = r.sendAfter(rt, http.MethodPost, f.rec, last.begin)
		}
		return
	}
	for wait := gaps(0, 1)(); pause(wait, stop); wait = f.gap() {
		last = r.sendAfter(rt, http.MethodPost, f.rec, last.begin)
	}
}

// raceGap is about the proxy's timeout: mostly within 1.5 % of it, else within 10 %.
func raceGap() time.Duration {
	if rand.Float64() < 0.7 {
		return gaps(0.985, 1.015)()
	}
	return gaps(0.9, 1.1)()
}

// raceGaps are raceGap, or for a proxy with coarse ticks as far as they reach.
func (v variant) raceGaps() func() time.Duration {
	if v.kind.Coarse {
		return gaps(0.9, 2.4)
	}
	return raceGap
}

// gaps returns random gaps from lo to hi, as shares of the proxy's timeout.
func gaps(lo, hi float64) func() time.Duration {
	return func() time.Duration {
		return time.Duration((lo + rand.Float64()*(hi-lo)) * float64(shortIdle))
	}
}
