package pool

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

// A proxy that is silent has dials that nobody waits for taken away soon; but now and then
// one is left to it, in case it is only slow.
func TestSlowProxyIsWaitedForInTheEnd(t *testing.T) {
	proxied := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test:3128"})}
	inBubble(t, Config{Base: proxied}, func(s *script) {
		want := []time.Duration{orphanGraceProxy, orphanGraceProxy, orphanGraceProxy, orphanGraceProxy, orphanGrace}
		for i, grace := range append(want, want...) {
			a := s.get()
			d := s.wantDial()
			a.cancel()
			a.wantError(PhaseDial, context.Canceled)
			left := time.Now()
			<-d.ctx.Done()
			if took := time.Since(left); took != grace {
				s.Errorf("dial %d ended after %v, want %v", i, took, grace)
			}
		}
	})
}

// Whoever left first has no say in how long a dial goes on that began after that.
func TestEachDialHasItsOwnGrace(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a := s.get()
		first := s.wantDial()
		a.cancel()
		a.wantError(PhaseDial, context.Canceled)
		time.Sleep(orphanGrace / 2)
		b, c := s.get(), s.get() // b waits for the first dial
		second := s.wantDial()
		for _, tp := range []*trip{b, c} {
			tp.cancel()
			tp.wantError(PhaseDial, context.Canceled)
		}
		left := time.Now()
		<-first.ctx.Done()
		<-second.ctx.Done()
		if took := time.Since(left); took != orphanGrace {
			s.Errorf("the last dial ended %v after the last waiter, want %v", took, orphanGrace)
		}
	})
}

// What the keeper dials, for Warm say, makes no dial one too many that requests wait for.
func TestKeepersDialsAreNoReasonToCut(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		const n = spareDials + 2
		trips := s.gets(n)
		done := s.warm(s.Context(), 2*n)
		if st := s.stats(); st.Dialing != 2*n || st.DialsAhead != n {
			t.Fatalf("%d dials, %d of them ahead; want %d and %d", st.Dialing, st.DialsAhead, 2*n, n)
		}
		trips[0].cancel()
		synctest.Wait()
		if st := s.stats(); st.Dialing != 2*n || st.DialsFailed != 0 || st.Waiting != n-1 {
			t.Errorf("%d dials and %d waiters after one has left, want %d and %d", st.Dialing, st.Waiting, 2*n, n-1)
		}
		for range 2 * n {
			s.wantDial().finish()
		}
		s.wantWarm(done, nil)
		for _, tp := range trips {
			tp.cancel()
		}
	})
}
