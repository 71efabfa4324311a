package pool

import (
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// silentH2 is a connection that takes n streams, has answered once, and has been silent since.
func (s *script) silentH2(n uint32) *h2Peer {
	s.Helper()
	tp := s.get()
	p := s.wantDial().serveH2(n)
	p.serve()
	tp.wantOK()
	return p
}

// Many requests that have lost their connections at once open one, and wait for that.
func TestManyThatPreferFreshShareOneDial(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		old := s.silentH2(1000)
		ctx := s.laterFresh()
		tps := make([]*trip, 1000)
		for i := range tps {
			tps[i] = s.getIn(ctx)
		}
		d := s.wantDial()
		s.wantNoDial()
		for _, tp := range tps {
			tp.wantPending()
		}
		other := s.get() // which has no preference, and doesn't wait with them
		old.wantRequest()
		p := d.finishH2()
		s.wantNoDial()
		p.settings(1000)
		for range tps {
			p.serve()
		}
		for _, tp := range tps {
			tp.wantOK()
		}
		old.wantNoRequest()
		s.wantNoDial()
		cancelAll([]*trip{other})
	})
}

// Those whom the new one doesn't carry take what there is.
func TestPreferFreshOpensOneAtATime(t *testing.T) {
	t.Run("as many streams as before", func(t *testing.T) {
		h2Bubble(t, Config{}, func(s *script) {
			old := s.silentH2(10)
			ctx := s.laterFresh()
			var tps []*trip
			for range 15 {
				tps = append(tps, s.getIn(ctx))
			}
			d := s.wantDial()
			s.wantNoDial()
			for range 5 {
				old.wantRequest()
			}
			old.wantNoRequest()
			p := d.serveH2(10)
			for range 10 {
				p.wantRequest()
			}
			s.wantNoDial()
			cancelAll(tps)
		})
	})
	t.Run("fewer than before", func(t *testing.T) {
		h2Bubble(t, Config{}, func(s *script) {
			old := s.silentH2(100)
			ctx := s.laterFresh()
			var tps []*trip
			for range 20 {
				tps = append(tps, s.getIn(ctx))
			}
			p := s.wantDial().serveH2(5)
			for range 5 {
				p.wantRequest()
			}
			for range 15 {
				old.wantRequest()
			}
			s.wantNoDial()
			cancelAll(tps)
		})
	})
}

func cancelAll(tps []*trip) {
	for _, tp := range tps {
		tp.cancel()
		<-tp.done
	}
}

// A connection on which something has come since is as good as a new one.
func TestPreferFreshTrustsWhatIsAlive(t *testing.T) {
	for name, sign := range map[string]func(*script, *h2Peer){
		"a PING answered": func(s *script, p *h2Peer) {
			s.tr.allHosts()[0].idle[0].h2.Ping()
			time.Sleep(moment)
		},
		"a frame": func(_ *script, p *h2Peer) { p.settings(50) },
		"an answer": func(s *script, p *h2Peer) {
			tp := s.get()
			p.serve()
			tp.wantOK()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h2Bubble(t, Config{}, func(s *script) {
				p := s.silentH2(100)
				time.Sleep(time.Second)
				ctx := s.laterFresh()
				sign(s, p)
				tp := s.getIn(ctx)
				s.wantNoDial()
				p.serve()
				tp.wantOK()
				// In use it is chosen likewise, and passed over if it has nothing to show.
				a := s.get()
				held := p.wantRequest()
				b := s.getIn(ctx)
				s.wantNoDial()
				p.serve()
				b.wantOK()
				time.Sleep(time.Millisecond)
				c := s.getIn(s.laterFresh())
				d := s.wantDial()
				p.answer(held) // its stream comes free, and its peer is there
				a.wantOK()
				p.serve()
				c.wantOK()
				d.serveH2(100)
			})
		})
	}
}

// Where no new one may be opened, or none comes, the old one is used.
func TestPreferFreshSettlesForAnOldSharedConnection(t *testing.T) {
	wantOn := func(s *script, tp *trip, old *h2Peer) {
		s.Helper()
		old.serve()
		tp.wantOK()
		s.wantNoDial()
	}
	t.Run("the limit", func(t *testing.T) {
		h2Bubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
			old := s.silentH2(100)
			tp := s.getIn(s.laterFresh())
			wantOn(s, tp, old)
		})
	})
	for name, end := range map[string]func(*scriptDial){
		"the dial fails":      func(d *scriptDial) { d.fail(syscall.ECONNREFUSED) },
		"the dial takes long": func(*scriptDial) { time.Sleep(slowDial) },
		"its handshake fails": func(d *scriptDial) {
			p := d.finishH2()
			p.close()
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h2Bubble(t, Config{}, func(s *script) {
				old := s.silentH2(100)
				ctx := s.laterFresh()
				tps := []*trip{s.getIn(ctx), s.getIn(ctx), s.getIn(ctx)}
				d := s.wantDial()
				end(d)
				if name == "its handshake fails" { // that has one of them already
					tps[0].wantError(PhaseSent, nil)
					tps = tps[1:]
				}
				for range tps {
					old.serve()
				}
				for _, tp := range tps {
					tp.wantOK()
				}
				s.wantNoDial()
				d.done <- io.EOF
			})
		})
	}
}

// With StrictMaxConcurrentRequests there is no second connection to wait for.
func TestPreferFreshWithOneConnection(t *testing.T) {
	cfg := Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}}
	h2Bubble(t, cfg, func(s *script) {
		old := s.silentH2(100)
		tp := s.getIn(s.laterFresh())
		s.wantNoDial()
		old.serve()
		tp.wantOK()
	})
}

// A peer that gives new connections up at once isn't asked for one after the other: the pool sends
// the request again on what there is.
func TestPreferFreshIsGivenUpWithAConnection(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		old := s.silentH2(100)
		tp := s.getIn(s.laterFresh())
		p := s.wantDial().serveH2(100)
		p.wantRequest()
		p.goAway(0, http2.ErrCodeNo)
		old.serve()
		tp.wantOK()
		s.wantNoDial()
	})
}

// Before the peer's SETTINGS a connection is still being opened, and so as good as a dial; who
// has no preference can take it likewise, and leaves nobody behind who waits for it.
func TestPreferFreshTakesWhatIsBeingOpened(t *testing.T) {
	h2Bubble(t, Config{MaxRequestsPerConn: 1}, func(s *script) {
		gone := s.get()
		d := s.wantDial()
		gone.cancel()
		<-gone.done
		p := d.finishH2()
		tp := s.getIn(s.laterFresh())
		s.wantNoDial()
		q := p.wantRequest() // it doesn't wait for more
		p.settings(100)
		p.answer(q)
		tp.wantOK()
	})
}
