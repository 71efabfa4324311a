package pool

import (
	"errors"
	"net"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/dialer"
)

// wantSplit checks that what Totals splits adds up, where nothing is under way.
func wantSplit(t *testing.T, tot *Totals) {
	t.Helper()
	f := tot.DialFailures
	if sum := f.Resolve + f.Connect + f.Proxy + f.TLS + f.Abandoned; sum != tot.DialsFailed {
		t.Errorf("%d dials have failed, by stage %+v", tot.DialsFailed, f)
	}
	if n := tot.DialTimes.Count(); n != tot.Opened {
		t.Errorf("the times of %d dials were counted, %d connections were opened", n, tot.Opened)
	}
	if n := tot.WaitTimes.Count(); tot.WaitTimes.Sum != tot.WaitTime || n < tot.Waited {
		t.Errorf("%d waits of %v in all were counted, want at least %d of %v", n, tot.WaitTimes.Sum, tot.Waited, tot.WaitTime)
	}
	for r, a := range tot.IdleAges {
		if a.Count > tot.ClosedBy[r] || a.Sum < 0 {
			t.Errorf("%s: %d were idle for %v in all, %d were closed", r, a.Count, a.Sum, tot.ClosedBy[r])
		}
	}
}

// counted is a histogram with these times.
func counted(times ...time.Duration) (h Histogram) {
	for _, d := range times {
		h.observe(d)
	}
	return h
}

func TestHistogramBounds(t *testing.T) {
	for i, b := range bucketBounds {
		if i > 0 && b <= bucketBounds[i-1] {
			t.Errorf("bound %d is %v, behind %v", i, b, bucketBounds[i-1])
		}
		if at, above := bucketOf(b), bucketOf(b+1); at != i || above != i+1 {
			t.Errorf("%v is in bucket %d and what is longer in %d, want %d and %d", b, at, above, i, i+1)
		}
	}
	if bucketOf(0) != 0 || bucketOf(time.Hour) != histogramBuckets-1 {
		t.Error("what is short isn't in the first bucket, or what is long not in the last")
	}
}

func TestWaitTimes(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWait: time.Second}, func(s *script) {
		first := s.get()
		time.Sleep(20 * ms)
		p := s.wantDial().finish()
		second, third, fourth := s.get(), s.get(), s.get()
		time.Sleep(300 * ms)
		p.serve("1")
		first.wantBody("1")
		third.cancel()
		p.wantRequest()
		third.wantError(PhaseWait, nil)
		time.Sleep(700 * ms)
		fourth.wantError(PhaseWait, ErrWaitTimeout)
		p.answer("2")
		second.wantBody("2")
		want := counted(20*ms, 300*ms, 300*ms, time.Second)
		if st := s.stats(); st.WaitTimes != want || st.WaitTime != want.Sum || st.Waited != 4 || st.MaxConns != 1 || st.MaxWait != time.Second {
			t.Errorf("waits %+v of %v, %d waited, limits %d and %v; want %+v", st.WaitTimes, st.WaitTime, st.Waited, st.MaxConns, st.MaxWait, want)
		}
		if st := s.stats(); st.DialTimes != counted(20*ms) {
			t.Errorf("dials %+v", st.DialTimes)
		}
	})
}

// A request that waits for a connection, and then for the dial that takes its place, has waited once.
func TestWaitTimesOfOneRequestAreOne(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		first := s.get()
		p := s.wantDial().finish()
		second := s.get()
		time.Sleep(40 * ms)
		p.wantRequest()
		p.answer("1", "Connection: close")
		first.wantBody("1")
		time.Sleep(30 * ms)
		s.wantDial().finish().serve("2")
		second.wantBody("2")
		if st := s.stats(); st.WaitTimes != counted(0, 70*ms) {
			t.Errorf("waits %+v", st.WaitTimes)
		}
	})
}

func TestDialFailuresByStage(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want DialFailures
	}{
		{&dialer.Error{Stage: dialer.StageResolve}, DialFailures{Resolve: 1}},
		{&net.DNSError{}, DialFailures{Resolve: 1}},
		{errors.New("some hook's"), DialFailures{Connect: 1}},
		{&dialer.Error{Stage: dialer.StageProxy}, DialFailures{Proxy: 1}},
		{&dialer.Error{Stage: dialer.StageTLS}, DialFailures{TLS: 1}},
	} {
		inBubble(t, Config{}, func(s *script) {
			tp := s.get()
			s.wantDial().fail(tt.err)
			tp.wantError(PhaseDial, nil)
			if st := s.stats(); st.DialFailures != tt.want {
				t.Errorf("%v: %+v, want %+v", tt.err, st.DialFailures, tt.want)
			}
		})
	}
}

// A dial that is given up because nobody waits for it says nothing of the host.
func TestAbandonedDials(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		tp := s.get()
		s.wantDial()
		tp.cancel()
		time.Sleep(2 * orphanGrace)
		tp.wantError(PhaseDial, nil)
		if st := s.stats(); st.DialFailures != (DialFailures{Abandoned: 1}) {
			t.Errorf("given up: %+v", st.DialFailures)
		}
		s.get()
		s.wantDial()
		s.tr.Close()
		if st := s.stats(); st.DialFailures != (DialFailures{Abandoned: 2}) {
			t.Errorf("closed: %+v", st.DialFailures)
		}
	})
}

func TestIdleAges(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: 10 * time.Second, IdleMargin: time.Second}, func(s *script) {
		s.exchange().Close() // at once
		synctest.Wait()
		p := s.exchange()
		time.Sleep(3 * time.Second)
		p.Close()
		synctest.Wait()
		s.exchange()
		time.Sleep(10 * time.Second)
		p = s.exchange()
		time.Sleep(2 * time.Second)
		tp := s.get() // it fails in use, after a rest
		p.wantRequest()
		p.Close()
		tp.wantError(PhaseSent, nil)
		s.exchange()
		time.Sleep(time.Second)
		s.tr.CloseIdleConnections()
		want := map[CloseReason]IdleAges{
			ReasonPeerClosed: {2, 3 * time.Second},
			ReasonIdleLimit:  {1, 9 * time.Second},
			ReasonIdleClosed: {1, time.Second},
		}
		if st := s.stats(); !reflect.DeepEqual(st.IdleAges, want) || st.ClosedBy[ReasonPeerAborted] != 1 {
			t.Errorf("ages %v, closed %v; want %v", st.IdleAges, st.ClosedBy, want)
		}
	})
}

// A connection that was never used has been idle since it was opened.
func TestIdleAgeOfUnused(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		tp := s.get()
		tp.cancel()
		s.wantDial().finish()
		time.Sleep(time.Second)
		s.tr.Drain("host.test:80")
		if st := s.stats(); st.IdleAges[ReasonIdleClosed] != (IdleAges{1, time.Second}) {
			t.Errorf("ages %v", st.IdleAges)
		}
	})
}

func TestIdleAgesOfHTTP2(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		p := s.h2Exchange()
		time.Sleep(2 * time.Second)
		p.goAway(1, 0)
		synctest.Wait()
		if st := s.stats(); st.IdleAges[ReasonGoAway] != (IdleAges{1, 2 * time.Second}) || st.ClosedBy[ReasonGoAway] != 1 {
			t.Errorf("ages %v, closed %v", st.IdleAges, st.ClosedBy)
		}
	})
}

func TestGuardCountsWaitsAndAges(t *testing.T) {
	guardBubble(t, GuardConfig{MaxConnsPerHost: 1, MaxWait: time.Second, ProxyIdleTimeout: 10 * time.Second, IdleMargin: time.Second}, func(s *guarded) {
		first := s.open()
		first.exchange()
		second, third := s.start(), s.start()
		time.Sleep(300 * ms)
		third.cancel()
		synctest.Wait()
		time.Sleep(200 * ms)
		first.Close()
		if err := second.over(t); err != nil {
			t.Fatal(err)
		}
		third.over(t)
		second.conn.Close()
		<-s.servers
		p := s.open()
		p.exchange()
		time.Sleep(9 * time.Second)
		p.wantRefused(getHead, ErrIdleLimit)
		h := s.g.Stats().Hosts[0]
		ages := map[CloseReason]IdleAges{ReasonIdleClosed: {2, 500 * ms}, ReasonIdleLimit: {1, 9 * time.Second}}
		if h.WaitTimes != counted(300*ms, 500*ms) || !reflect.DeepEqual(h.IdleAges, ages) || h.MaxConns != 1 || h.MaxWait != time.Second {
			t.Errorf("waits %+v, ages %v; want %v", h.WaitTimes, h.IdleAges, ages)
		}
	})
}
