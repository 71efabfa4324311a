package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A simLane sends a request every gap or so on its one connection, as the pool would: no longer
// than the learnt limit, and with a witness now and then.
type simLane struct {
	watched
	rng              *rand.Rand
	open, witness    bool
	since, witnessed time.Time // when they became idle
	dials            int
}

func (l *simLane) limit() time.Duration {
	t := timeouts{}
	t.learnt, t.jitter, _ = l.value(l.now)
	return t.limit().limit
}

// about is d and up to a tenth of it more.
func (l *simLane) about(d time.Duration) time.Duration {
	return d + time.Duration(l.rng.Int64N(int64(d/10)))
}

func (l *simLane) request() {
	if l.open {
		l.survived(l.now.Sub(l.since), l.now)
	} else {
		l.dials++
	}
	l.open, l.since = true, l.now
}

// restart closes what is open.
func (l *simLane) restart() {
	if l.open {
		l.closed(l.now.Sub(l.since), l.now)
	}
	if l.witness {
		l.closed(l.now.Sub(l.witnessed), l.now)
	}
	l.open, l.witness = false, false
}

// until lets the time pass, in which connections reach their limits.
func (l *simLane) until(at time.Time) {
	if limit := l.limit(); l.open && limit > 0 && at.Sub(l.since) >= limit {
		l.open = false
		if !l.witness && l.unconfirmed(l.since.Add(limit)) {
			l.witness, l.witnessed = true, l.since
		}
	}
	if l.witness && at.Sub(l.witnessed) >= l.disproof {
		l.survived(at.Sub(l.witnessed), at)
		l.witness = false
	}
	l.now = at
}

// Where everything is closed every few seconds, whatever its age, a connection that few use
// is closed at ages that resemble a timer's. It is to be reused about as often as if nothing
// were ever learnt from that.
func TestRestartsDontEndReuse(t *testing.T) {
	const n = 20000
	for _, c := range []struct{ gap, restarts time.Duration }{
		{100 * ms, time.Second}, {200 * ms, time.Second}, {200 * ms, 5 * time.Second}, {200 * ms, 20 * time.Second},
		{time.Second, 5 * time.Second}, {3 * time.Second, 10 * time.Second}, {3 * time.Second, time.Minute},
	} {
		t.Run(fmt.Sprintf("gaps of %v, restarts every %v", c.gap, c.restarts), func(t *testing.T) {
			l := &simLane{watched: *newWatched(), rng: rand.New(rand.NewPCG(1, 2))}
			least, restart := 1, l.now.Add(l.about(c.restarts))
			for range n {
				l.request()
				next := l.now.Add(l.about(c.gap))
				if restart.Before(next) {
					least++
				}
				for ; restart.Before(next); restart = restart.Add(l.about(c.restarts)) {
					l.until(restart)
					l.restart()
				}
				l.until(next)
			}
			if most := 2 * least; l.dials > most {
				t.Errorf("%d dials for %d requests, without learning %d", l.dials, n, least)
			}
		})
	}
}

// A lesson that was false isn't kept alive by closes at ages that the connections don't
// outgrow because of it.
func TestYoungClosesConfirmNothing(t *testing.T) {
	w := newWatched().timer(time.Second, time.Second, time.Second)
	for range 30 {
		w.timer(200*ms, 700*ms, 400*ms)
	}
	if w.want(t, time.Second); !w.unconfirmed(w.now) {
		t.Error("confirmed")
	}
	if w.timer(990 * ms); w.unconfirmed(w.now) {
		t.Error("not confirmed")
	}
}

// A timer's connections may live a little longer than any that was closed, but not time and
// again.
func TestSeveralThatLiveDisprove(t *testing.T) {
	lives := func(w *watched, age time.Duration) bool {
		w.now = w.now.Add(time.Second)
		return w.survived(age, w.now)
	}
	w := newWatched().timer(time.Second, 1010*ms, 1020*ms)
	for range manyLive - 1 {
		if lives(w, 1030*ms) || lives(w, 1020*ms) {
			t.Fatal("disproved by few")
		}
	}
	w.timer(1005 * ms)
	for range manyLive - 1 {
		if lives(w, 1030*ms) {
			t.Fatal("a close in between counts for nothing")
		}
		if w.survived(1030*ms, w.now) {
			t.Fatal("several in one moment count for several")
		}
	}
	if !lives(w, 1030*ms) {
		t.Error("not disproved")
	}
}
