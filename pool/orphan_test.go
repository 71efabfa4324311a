package pool

import (
	"context"
	"net/http"
	"net/url"
	"testing"
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
