package pool

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestDialWindow(t *testing.T) {
	const ms = time.Millisecond
	type dial struct {
		took   time.Duration // zero: failed
		unused bool          // the window wasn't full
		n      int           // so many of them; zero: one
	}
	for name, test := range map[string]struct {
		dials []dial
		want  int
	}{
		"nothing known":                   {nil, firstDials},
		"short handshake":                 {[]dial{{took: ms}}, firstDials},
		"medium handshake":                {[]dial{{took: 20 * ms}}, burstDials / 2},
		"long handshake":                  {[]dial{{took: time.Second}}, burstDials},
		"one more with each on time":      {[]dial{{took: 5 * ms}, {took: 5 * ms, n: 16}}, 2 * firstDials},
		"no more than was used":           {[]dial{{took: 5 * ms}, {took: 5 * ms, n: 16, unused: true}}, firstDials},
		"a hiccup is on time":             {[]dial{{took: ms}, {took: 2*ms + dialSlack}}, firstDials + 1},
		"one less with each that is late": {[]dial{{took: ms}, {took: 8 * ms, n: 5}}, firstDials - 5},
		"never too few":                   {[]dial{{took: ms}, {took: 8 * ms, n: 500}}, fewDials},
		"never too many":                  {[]dial{{took: ms}, {took: ms, n: 5000}}, mostDials},
		"half with a failure":             {[]dial{{took: ms}, {}}, firstDials / 2},
		"refused at first":                {[]dial{{}}, firstDials / 2},
		"one at least":                    {[]dial{{n: 100}}, 1},
		"a success after failures":        {[]dial{{took: 20 * ms}, {n: 10}, {took: 30 * ms}}, burstDials / 2},
		"a larger window stays":           {[]dial{{took: ms}, {took: ms, n: 200}, {}, {took: ms}}, 108},
	} {
		var w dialWindow
		for _, d := range test.dials {
			for range max(d.n, 1) {
				if d.took == 0 {
					w.failedOnce()
				} else {
					w.succeeded(d.took, !d.unused, time.Now())
				}
			}
		}
		if got := w.size(); got != test.want {
			t.Errorf("%s: %d dials may be in flight, want %d", name, got, test.want)
		}
	}
}

// A way that has become longer isn't taken for a queue for ever.
func TestDialWindowForgetsItsBest(t *testing.T) {
	var w dialWindow
	now := time.Now()
	w.succeeded(time.Millisecond, true, now)
	for range 10 {
		w.succeeded(100*time.Millisecond, true, now.Add(bestMemory))
	}
	low := w.size()
	for range 10 {
		w.succeeded(100*time.Millisecond, true, now.Add(bestMemory+1))
	}
	if low != firstDials-10 || w.size() != low+10 {
		t.Errorf("%d and %d dials may be in flight, want %d and %d", low, w.size(), firstDials-10, firstDials)
	}
}

// Few dials don't queue for long: where they are late from beginning to end, the way has become
// longer, and doesn't leave bursts waiting until the best is forgotten. Those that began while
// there were many say nothing.
func TestDialWindowFollowsALongerWay(t *testing.T) {
	const before, after = 5 * time.Millisecond, 50 * time.Millisecond
	var w dialWindow
	now := time.Now()
	w.succeeded(before, true, now)
	now = now.Add(after)
	for range 100 { // that were in flight together
		w.succeeded(after, true, now)
	}
	if w.size() != fewDials || w.best != before {
		t.Fatalf("%d dials may be in flight, the best took %v", w.size(), w.best)
	}
	rounds := 0
	for ; w.size() < 10*fewDials && rounds < 100; rounds++ {
		now = now.Add(after)
		for range w.size() {
			w.succeeded(after, true, now)
		}
	}
	if rounds > 6 {
		t.Errorf("it took %d rounds until %d dials may be in flight", rounds, w.size())
	}
	w.succeeded(before, true, now)
	if w.best != before {
		t.Errorf("the best is %v when the way is short again", w.best)
	}
}

// dialsUnderWay takes the dials that have begun.
func (s *script) dialsUnderWay() []*scriptDial {
	s.Helper()
	s.stats()
	var ds []*scriptDial
	for len(s.dials) > 0 {
		ds = append(ds, <-s.dials)
	}
	return ds
}

func (s *script) wantDials(n int) []*scriptDial {
	s.Helper()
	ds := s.dialsUnderWay()
	if st := s.stats(); len(ds) != n || st.Dialing > st.DialWindow {
		s.Fatalf("%d dials have begun, want %d; %d are under way in a window of %d", len(ds), n, st.Dialing, st.DialWindow)
	}
	return ds
}

func (s *script) crowd(n int) []*trip {
	s.Helper()
	trips := make([]*trip, n)
	for i := range trips {
		trips[i] = s.get()
	}
	return trips
}

// A far peer: the second round has all that the burst needs.
func TestBurstOverALongWay(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		trips := s.crowd(100)
		ds := s.wantDials(firstDials)
		time.Sleep(100 * time.Millisecond)
		ds[0].finish()
		ds = append(ds, s.wantDials(100-firstDials)...)
		time.Sleep(100 * time.Millisecond)
		for _, d := range ds[1:] {
			d.finish()
		}
		for _, d := range ds {
			d.peer.serve("ok")
		}
		for _, tp := range trips {
			tp.wantBody("ok")
		}
		if st := s.stats(); st.Idle != 100 || st.Dials != 100 || st.DialsUnused != 0 {
			t.Errorf("%d idle, %d dials, %d of them unused", st.Idle, st.Dials, st.DialsUnused)
		}
	})
}

// A peer whose handshakes queue: what is there serves the burst, and the surplus goes idle.
func TestBurstOfSlowHandshakes(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		trips := s.crowd(200)
		ds := s.wantDials(firstDials)
		var peers []*peerConn
		for served := 0; served < len(trips); {
			time.Sleep(4 * time.Millisecond)
			if len(ds) > 0 { // one handshake at a time
				peers = append(peers, ds[0].finish())
				ds = append(ds[1:], s.dialsUnderWay()...)
			}
			for _, p := range peers {
				if served < len(trips) {
					p.serve("ok")
					trips[served].wantBody("ok")
					served++
				}
			}
		}
		for _, d := range ds {
			d.finish()
		}
		st := s.stats()
		if st.Dials > 40 || st.DialWindow != fewDials || st.Idle != int(st.Dials) || st.DialsFailed != 0 {
			t.Errorf("%d dials for 200 requests, %d idle, %d failed, window %d", st.Dials, st.Idle, st.DialsFailed, st.DialWindow)
		}
	})
}

// All who wait get the error of the dials that they waited for, and the next one dials once.
func TestBurstToAHostThatRefuses(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		trips := s.crowd(100)
		ds := s.wantDials(firstDials)
		for _, d := range ds {
			d.fail(syscall.ECONNREFUSED)
		}
		for _, tp := range trips {
			tp.wantError(PhaseDial, syscall.ECONNREFUSED)
		}
		s.wantDials(0)
		again := s.crowd(10)
		s.wantDials(1)[0].fail(errors.New("still down"))
		for _, tp := range again {
			tp.wantError(PhaseDial, nil)
		}
		last := s.get()
		s.wantDials(1)[0].finish().serve("up")
		last.wantBody("up")
	})
}

// When the waiters of a host that hangs give up, few dials outlive them, and these for a while.
func TestFewDialsOutliveTheirWaiters(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		ctx, cancel := context.WithTimeout(s.Context(), 20*time.Millisecond)
		defer cancel()
		var trips []*trip
		for range 100 {
			trips = append(trips, s.start(s.request("GET", nil).WithContext(ctx)))
		}
		ds := s.wantDials(firstDials)
		<-ctx.Done()
		for _, tp := range trips {
			tp.wantError(PhaseDial, context.DeadlineExceeded)
		}
		if st := s.stats(); st.Dialing != spareDials || st.Waiting != 0 {
			t.Errorf("%d dials, %d waiters", st.Dialing, st.Waiting)
		}
		ds = slices.DeleteFunc(ds, func(d *scriptDial) bool { return d.ctx.Err() != nil })
		if len(ds) != spareDials {
			t.Fatalf("%d dials go on, want %d", len(ds), spareDials)
		}
		next := s.get() // it takes one of them
		s.wantDials(0)
		ds[0].finish().serve("ok")
		next.wantBody("ok")
		time.Sleep(orphanGrace)
		if st := s.stats(); st.Dialing != 0 || st.Open != 1 {
			t.Errorf("%d dials after the grace, %d connections", st.Dialing, st.Open)
		}
	})
}

// A dial more than there are waiters takes nobody with it when it fails.
func TestSurplusDialThatFailsIsNobodys(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a, b := s.get(), s.get()
		ds := s.wantDials(2)
		a.cancel()
		a.wantError(PhaseDial, context.Canceled)
		ds[0].fail(syscall.ECONNREFUSED)
		b.wantPending()
		ds[1].finish().serve("b")
		b.wantBody("b")
	})
}
