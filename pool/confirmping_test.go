package pool

import (
	"context"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// No answer: the request goes elsewhere, and nothing of it is on the old connection.
func TestUnansweredPing(t *testing.T) {
	for _, limit := range []int{0, 1} {
		h2Bubble(t, Config{ConfirmAfter: time.Second, MaxConnsPerHost: limit}, func(s *script) {
			p := s.idleH2(2 * time.Second)
			p.mute.Store(true)
			start := time.Now()
			var tps []*trip
			for range 3 {
				tps = append(tps, s.post())
			}
			time.Sleep(confirmWait - time.Millisecond)
			s.wantNoDial()
			time.Sleep(time.Millisecond)
			p2 := s.wantDial().serveH2(10)
			if d := time.Since(start); d != confirmWait {
				s.Errorf("dialled after %v", d)
			}
			for range tps {
				p2.serve()
			}
			for _, tp := range tps {
				tp.wantOK()
			}
			p.wantNoRequest()
			s.confirmed(3, 3)
			if limit == 1 {
				p.wantClosed() // it was in the way
				return
			}
			p.wantOpen()
			if st := s.stats(); !st.Conns[0].Suspect {
				s.Errorf("stats %+v", st)
			}
			if n := p.pings(); n > 1 { // the three share one; wantNoRequest took it
				s.Errorf("%d PINGs", n)
			}
			time.Sleep(time.Minute) // nothing comes: PingTimeout
			p.wantClosed()
		})
	}
}

// With one connection as the rule, a silent one is in the way in any case.
func TestUnansweredPingWithStrictStreams(t *testing.T) {
	base := &http.Transport{HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}
	h2Bubble(t, Config{ConfirmAfter: time.Second, Base: base}, func(s *script) {
		p := s.idleH2(2 * time.Second)
		p.mute.Store(true)
		tp := s.post()
		time.Sleep(confirmWait)
		p2 := s.wantDial().serveH2(10)
		p2.serve()
		tp.wantOK()
		p.wantClosed()
	})
}

// A late answer makes a suspect connection good again.
func TestLatePong(t *testing.T) {
	h2Bubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		p := s.idleH2(2 * time.Second)
		p.mute.Store(true)
		tp := s.post()
		ping := p.wantPing()
		time.Sleep(confirmWait)
		d := s.wantDial()
		if err := p.c.Respond(ping); err != nil {
			s.Fatal(err)
		}
		p.mute.Store(false)
		p.serve() // it waits for whatever comes first
		tp.wantOK()
		d.serveH2(10)
		time.Sleep(2 * time.Second)
		s.post()
		if st := s.stats(); st.Conns[0].PingRTT != confirmWait {
			s.Errorf("round trip %v", st.Conns[0].PingRTT)
		}
		s.tr.Close()
	})
}

// What ends while it is asked has had nothing of the request: nobody hears of it.
func TestConnectionEndsWhileItIsAsked(t *testing.T) {
	for name, end := range map[string]func(p *h2Peer){
		"FIN":    func(p *h2Peer) { p.close() },
		"GOAWAY": func(p *h2Peer) { p.goAway(1, http2.ErrCodeNo) },
	} {
		t.Run(name, func(t *testing.T) {
			h2Bubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
				p := s.idleH2(2 * time.Second)
				p.mute.Store(true)
				start := time.Now()
				tp := s.post()
				p.wantPing()
				end(p)
				p2 := s.wantDial().serveH2(10)
				p2.serve()
				tp.wantOK()
				if d := time.Since(start); d != 0 {
					s.Errorf("took %v", d)
				}
				s.confirmed(1, 1)
				if st := s.stats(); st.Replaced != 1 {
					s.Errorf("stats %+v", st.Totals)
				}
			})
		})
	}
}

func TestCallerLeavesWhileThePeerIsAsked(t *testing.T) {
	h2Bubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		p := s.idleH2(2 * time.Second)
		p.mute.Store(true)
		tp := s.post()
		tp.cancel()
		tp.wantError(PhaseUnsent, context.Canceled)
		s.confirmed(0, 0)
		p.mute.Store(false)
	})
}

// Peers count PINGs that no HEADERS or DATA of theirs follow. Who may not ask goes elsewhere,
// or where there is no elsewhere, unasked.
func TestWhoMayNotAsk(t *testing.T) {
	for _, limit := range []int{0, 1} {
		h2Bubble(t, Config{ConfirmAfter: time.Second, MaxConnsPerHost: limit}, func(s *script) {
			p := s.idleH2(2 * time.Second)
			for range 2 {
				s.post()
				p.wantPing()
				p.wantRequest() // unanswered
				time.Sleep(2 * time.Second)
			}
			s.post()
			if limit == 0 {
				s.wantDial().serveH2(10).wantRequest()
				p.wantNoRequest()
			} else {
				s.wantNoDial()
				p.wantRequest()
			}
			if n := s.stats().Conns[0].Pings; n != 2 {
				s.Errorf("%d PINGs", n)
			}
			s.confirmed(2, 0)
			s.tr.Close()
		})
	}
}

// An idle one of which that is true makes room.
func TestIdleConnectionThatMayNotBeAsked(t *testing.T) {
	h2Bubble(t, Config{ConfirmAfter: time.Second, MaxConnsPerHost: 1}, func(s *script) {
		p := s.idleH2(2 * time.Second)
		for range 2 {
			tp := s.post()
			p.wantPing()
			p.wantRequest()
			tp.cancel()
			tp.wantError(PhaseSent, context.Canceled)
			time.Sleep(2 * time.Second)
		}
		tp := s.post()
		p.wantClosed()
		s.wantDial().serveH2(10).serve()
		tp.wantOK()
	})
}
