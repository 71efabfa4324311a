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
