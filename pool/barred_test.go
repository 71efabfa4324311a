package pool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A peer that takes no stream for now wants no more connections either.
func TestPeerThatTakesNoStreamIsNotDialledOn(t *testing.T) {
	h2Bubble(t, Config{MinIdlePerHost: 10}, func(s *script) {
		tp := s.get()
		p := s.wantDial().serveH2(1)
		p.serve()
		tp.wantOK()
		p.settings(0)
		synctest.Wait()
		for range 9 { // for what one stream each was to carry
			s.wantDial().serveH2(0)
		}
		time.Sleep(time.Minute)
		s.wantNoDial()
		ctx, cancel := context.WithCancel(s.Context())
		done := s.warm(ctx, 20)
		for range 10 {
			s.wantDial().serveH2(0)
		}
		time.Sleep(time.Minute)
		s.wantNoDial()
		s.wantWarming(done)
		p.settings(20)
		s.wantWarm(done, nil)
		cancel()
	})
}
