package scenario

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A lane sends requests to a site with pauses, and notes what went wrong and on how old a
// connection it went.
type lane struct {
	pacer
	failed []error
}

// lanes makes n with the pair's transport.
func (p *pair) lanes(n int) []*lane {
	ls := make([]*lane, n)
	for i := range ls {
		ls[i] = &lane{pacer: pacer{do: doer(p.tr.RoundTrip), kind: bodyKinds[i%len(bodyKinds)], method: http.MethodPost, url: p.url}}
	}
	return ls
}

// run sends until the time is over, with pauses of gap.
func (l *lane) run(t tester, until time.Time, gap func() time.Duration) {
	for time.Now().Before(until) {
		if err := l.send(t.Context()); err != nil {
			l.failed = append(l.failed, err)
		}
		pause(gap())
	}
}

// teach lets the site close idle connections, one after the other, until the client has
// learnt from that, or for 12 times.
func (p *pair) teach(t *testing.T) {
	t.Helper()
	p.tr.CloseIdleConnections() // the site keeps those that were never used
	for range 12 {
		if !p.seeClose(t) || p.host().LearntIdle > 0 {
			return
		}
	}
	t.Errorf("%s: nothing was learnt: %+v", p.name, p.host())
}

// seeClose makes a request and waits until the site has closed its connection.
func (p *pair) seeClose(t *testing.T) bool {
	t.Helper()
	if err := doer(p.tr.RoundTrip).send(newPatient(t, http.MethodPost, p.url, oneShot)); err != nil {
		t.Errorf("%s: %v", p.name, err)
		return false
	}
	if !within(patience, func() bool { return p.host().Open == 0 }) {
		t.Errorf("%s: the site doesn't close: %+v", p.name, p.host())
		return false
	}
	return true
}

// wantLearnt checks what the client has learnt, and that this is the limit's source.
func (p *pair) wantLearnt(t tester, least, most time.Duration) {
	t.Helper()
	h := p.host()
	if h.LearntIdle < least || h.LearntIdle > most {
		t.Errorf("%s: learnt %v, want %v to %v", p.name, h.LearntIdle, least, most)
	}
	if h.IdleLimitSource != "learnt" || h.IdleLimit >= h.LearntIdle || h.IdleLimit < h.LearntIdle/2 {
		t.Errorf("%s: limit %v (%s), learnt %v", p.name, h.IdleLimit, h.IdleLimitSource, h.LearntIdle)
	}
}

// wantKept checks that no request failed, or went out on a connection as old as T.
func (p *pair) wantKept(t tester, ls []*lane, T time.Duration) {
	t.Helper()
	reused := 0
	for _, l := range ls {
		for _, err := range l.failed {
			t.Errorf("%s: %v", p.name, err)
		}
		if l.oldest >= T {
			t.Errorf("%s: a connection was used after %v, with a timeout of %v", p.name, l.oldest, T)
		}
		reused += l.reused
	}
	if reused == 0 {
		t.Errorf("%s: no connection was reused", p.name)
	}
}

// Nobody says after what time the server closes idle connections. A few closes show it, and
// from then on no request goes out on a connection that is about to be closed.
func TestAnIdleTimeoutIsLearnt(t *testing.T) { judged(t, 20*time.Millisecond, learntTimeout) }

func learntTimeout(j *judge) {
	const T, n = 250 * time.Millisecond, 6
	t := j.T
	r := newRig(t, plain)
	ways := map[string]farewell{"h1": farewells[2], "h1 over TLS": farewells[1], "h2c": farewells[0], "h2": farewells[6]}
	ps := r.pairs(func(sp speech) manners {
		return manners{by: ways[sp.name], timeout: func() time.Duration { return T + time.Duration(rand.IntN(10))*time.Millisecond }}
	}, noConfig)
	eachPair(ps, func(p *pair) {
		p.teach(t)
		p.wantLearnt(j, T*9/10, T*13/10) // a busy machine adds to a timer
		ls := p.lanes(n)
		var wg sync.WaitGroup
		for i, l := range ls {
			wg.Go(func() {
				k := i // each lane has its own order
				tenths := []time.Duration{3, 10, 7, 4, 11, 6, 12, 5}
				l.run(t, time.Now().Add(4*T), func() time.Duration { k += 3; return T / 10 * tenths[k%len(tenths)] })
			})
		}
		wg.Wait()
		p.wantKept(j, ls, T)
	})
}

// A timer that looks at its connections only now and then closes them at any age from its
// timeout on. What is learnt lies within that span.
func TestATimerWithCoarseTicksIsLearnt(t *testing.T) {
	judged(t, 20*time.Millisecond, learntCoarse)
}

func learntCoarse(j *judge) {
	const T, tick, n = 150 * time.Millisecond, 100 * time.Millisecond, 4
	t := j.T
	r := newRig(t, plain)
	begin := time.Now()
	timeout := func() time.Duration {
		due := time.Since(begin) + T
		return T + (tick-due%tick)%tick
	}
	ps := r.pairs(func(speech) manners { return manners{timeout: timeout} }, noConfig)
	eachPair(ps, func(p *pair) {
		for range 7 { // the first ones may agree by chance, and are disproved then
			pause(time.Duration(rand.Int64N(int64(tick))))
			if !p.seeClose(t) {
				return
			}
		}
		p.teach(t)
		p.wantLearnt(j, T*8/10, T+tick+20*time.Millisecond)
		ls := p.lanes(n)
		var wg sync.WaitGroup
		for _, l := range ls {
			wg.Go(func() {
				l.run(t, time.Now().Add(4*T), func() time.Duration { return time.Duration(rand.Int64N(int64(2 * T))) })
			})
		}
		wg.Wait()
		for _, l := range ls {
			for i, err := range l.failed { // one may cross a close that is sooner than any before it
				if pe := poolError(t, err); i > 0 || pe.Phase != pool.PhaseSent {
					j.Errorf("%s: %v", p.name, err)
				}
			}
		}
	})
}

// A restart closes everything at one moment, whatever its age. That is no timeout, once or
// several times.
func TestARestartTeachesNoTimeout(t *testing.T) {
	const n = 5
	r := newRig(t, plain)
	ps := r.pairs(func(speech) manners { return manners{} }, noConfig)
	eachPair(ps, func(p *pair) {
		do := doer(p.tr.RoundTrip)
		for round, gap := range []time.Duration{0, 30 * time.Millisecond, 10 * time.Millisecond} {
			p.crowd.hold(n)
			together(n, func(i int) {
				if err := do.send(newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])); err != nil {
					t.Errorf("%s, round %d: %v", p.name, round, err)
				}
			})
			for range n { // so that ages differ, if gap isn't zero
				pause(gap)
				if err := do.send(newPatient(t, http.MethodPost, p.url, oneShot)); err != nil {
					t.Errorf("%s, round %d: %v", p.name, round, err)
				}
			}
			pause(time.Duration(80+round*110) * time.Millisecond)
			p.part(farewells[0])
			if !within(restTime, func() bool { return p.host().Open == 0 }) {
				t.Errorf("%s, round %d: %+v", p.name, round, p.host())
			}
		}
		if h := p.host(); h.LearntIdle != 0 || h.IdleLimit != 0 {
			t.Errorf("%s: learnt %v from restarts, limit %v (%s)", p.name, h.LearntIdle, h.IdleLimit, h.IdleLimitSource)
		}
		l := p.lanes(1)[0]
		l.pace(t, 350*time.Millisecond) // longer than any connection has lived
		if l.reused != 1 {
			t.Errorf("%s: after restarts no connection was reused", p.name)
		}
	})
}

// The server is configured anew and closes sooner. The requests that meet that are few, as
// the first closes show it.
func TestATimeoutThatBecomesShorterIsLearntAnew(t *testing.T) {
	judged(t, 15*time.Millisecond, learntAnew)
}

func learntAnew(j *judge) {
	const T = 300 * time.Millisecond
	t := j.T
	r := newRig(t, plain)
	var mu sync.Mutex
	now := T
	timeout := func() time.Duration { mu.Lock(); defer mu.Unlock(); return now }
	ps := r.pairs(func(speech) manners { return manners{timeout: timeout} }, noConfig)
	eachPair(ps, func(p *pair) {
		p.teach(t)
		p.wantLearnt(j, T*9/10, T*13/10)
	})
	mu.Lock()
	now = T / 2
	mu.Unlock()
	eachPair(ps, func(p *pair) {
		for range 8 {
			if p.host().LearntIdle < T*3/4 {
				break
			}
			if err := doer(p.tr.RoundTrip).send(newPatient(t, http.MethodPost, p.url, oneShot)); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
			within(patience, func() bool { return p.host().Open == 0 })
		}
		p.wantLearnt(j, T*9/20, T*13/20)
		l := p.lanes(1)[0]
		l.pace(j, T/2, T/2-time.Millisecond, T/5, T/2+time.Millisecond)
		p.wantKept(j, []*lane{l}, T/2)
	})
}

// What a timeout says that was configured or announced doesn't have to be learnt, but what
// is shorter in truth is.
func TestATimeoutThatWasSaidTooLongIsCorrected(t *testing.T) {
	judged(t, 20*time.Millisecond, corrected)
}

func corrected(j *judge) {
	const T = 200 * time.Millisecond
	t := j.T
	r := newRig(t, plain)
	ps := r.pairs(func(sp speech) manners {
		return manners{timeout: func() time.Duration { return T }, fields: []string{"Keep-Alive: timeout=5"}}
	}, func() pool.Config { return pool.Config{ProxyIdleTimeout: time.Minute} })
	eachPair(ps, func(p *pair) {
		p.teach(t)
		p.wantLearnt(j, T*9/10, T*13/10)
		l := p.lanes(1)[0]
		l.pace(j, T, T-time.Millisecond, T/2, T+time.Millisecond)
		p.wantKept(j, []*lane{l}, T)
	})
}
