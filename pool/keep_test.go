package pool

import (
	"context"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// keepFew is what most of these tests keep up.
const keepFew = 3

// The first request to a host is what its connections are opened for.
func TestMinIdleIsOpenedForAHostInUse(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: keepFew}, func(s *script) {
		p := s.exchange()
		s.wantDial().finish()
		s.wantDial().finish()
		s.wantNoDial()
		if st := s.stats(); st.Idle != keepFew || st.DialsAhead != keepFew-1 || st.DialsUnused != 0 {
			t.Errorf("%+v, want %d idle", st, keepFew)
		}
		p.Close()
		s.wantDial().finish() // at once: nothing in use could make up for it
		if st := s.stats(); st.Idle != keepFew {
			t.Errorf("%d idle, want %d", st.Idle, keepFew)
		}
	})
}

// Those that are given back soon are no reason to dial. Those that aren't are.
func TestMinIdleWaitsForWhatComesBack(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: keepFew}, func(s *script) {
		st := &site{s: s, dialTime: ms, answer: keepDelay / 2}
		defer st.run()()
		s.fetch("GET")
		time.Sleep(time.Second)
		for range 20 {
			var wg sync.WaitGroup
			for range keepFew {
				wg.Go(s.mustFetch)
			}
			wg.Wait()
			time.Sleep(keepDelay)
		}
		if n := st.dialled(); n != keepFew {
			t.Errorf("%d dials for short bursts, want %d", n, keepFew)
		}
		time.Sleep(time.Second)
		st.set(func() { st.answer = time.Second })
		var wg sync.WaitGroup
		for range keepFew {
			wg.Go(s.mustFetch)
		}
		time.Sleep(2*keepDelay + 2*ms)
		if got := s.stats(); got.Idle != keepFew || got.InUse != keepFew {
			t.Errorf("%d idle and %d in use, want %d each", got.Idle, got.InUse, keepFew)
		}
		wg.Wait()
	})
}

// Before the idle limit ends a connection there is another one.
func TestMinIdleIsRenewedBeforeItsLimit(t *testing.T) {
	for name, cfg := range map[string]Config{
		"idle limit":        {ProxyIdleTimeout: time.Second},
		"age":               {MaxConnAge: time.Second},
		"both":              {MaxConnAge: 3 * time.Second, ProxyIdleTimeout: time.Second},
		"a full idle stack": {ProxyIdleTimeout: time.Second, MaxIdlePerHost: keepFew},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.MinIdlePerHost = keepFew
			inBubble(t, cfg, func(s *script) {
				st := &site{s: s, dialTime: 20 * ms}
				defer st.run()()
				s.fetch("GET")
				time.Sleep(100 * ms)
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(7 * ms) {
					if got := s.stats(); got.Idle < keepFew {
						t.Fatalf("%d idle at %v", got.Idle, time.Now().Format("05.000"))
					}
				}
				s.mustFetch()
				// One span is 0.9 s at most, and renewal begins after half of it at the earliest.
				if n := st.dialled(); n < 20*keepFew || n > 50*keepFew {
					t.Errorf("%d dials in 20 s", n)
				}
			})
		})
	}
}

// Under a full limit an old connection has to go first; not all of them at once.
func TestMinIdleIsRenewedUnderAFullLimit(t *testing.T) {
	cfg := Config{MinIdlePerHost: keepFew, MaxConnsPerHost: keepFew, ProxyIdleTimeout: time.Second}
	inBubble(t, cfg, func(s *script) {
		st := &site{s: s, dialTime: 5 * ms}
		defer st.run()()
		s.fetch("GET")
		time.Sleep(100 * ms)
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(3 * ms) {
			if got := s.stats(); got.Idle < keepFew-1 {
				t.Fatalf("%d idle", got.Idle)
			}
		}
		if st.most > keepFew {
			t.Errorf("%d open at the peer", st.most)
		}
	})
}

// A dial that takes longer than the usual lead is begun earlier.
func TestMinIdleLeadGrowsWithTheDial(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: 1, ProxyIdleTimeout: 10 * time.Second}, func(s *script) {
		st := &site{s: s, dialTime: 700 * ms}
		defer st.run()()
		s.fetch("GET")
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * ms) {
			if got := s.stats(); got.Idle < 1 {
				t.Fatalf("none idle at %v", time.Now().Format("05.000"))
			}
		}
	})
}

// A host that nobody uses any more is let go, and vanishes.
func TestMinIdleEndsWithItsUse(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: keepFew, ProxyIdleTimeout: 10 * time.Second}, func(s *script) {
		st := &site{s: s, dialTime: ms}
		defer st.run()()
		s.fetch("GET")
		time.Sleep(keepFor - time.Second)
		synctest.Wait()
		if got := s.stats(); got.Idle < keepFew {
			t.Errorf("%d idle while it counts as used", got.Idle)
		}
		time.Sleep(12 * time.Second)
		n := st.dialled()
		if got := s.tr.Stats(); len(got.Hosts) != 0 || got.Total.Opened != got.Total.Closed {
			t.Errorf("%+v when it isn't used any more", got)
		}
		time.Sleep(time.Hour)
		if st.dialled() != n {
			t.Errorf("%d dials afterwards", st.dialled()-n)
		}
	})
}

// A host that refuses is tried with one dial at a time, and less and less often.
func TestMinIdleDoesNotStormAHostThatRefuses(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: 50}, func(s *script) {
		st := &site{s: s, dialTime: ms}
		defer st.run()()
		s.fetch("GET")
		time.Sleep(time.Second)
		if got := s.stats(); got.Idle != 50 {
			t.Fatalf("%d idle, want 50", got.Idle)
		}
		st.set(func() { st.refuses = syscall.ECONNREFUSED })
		n := st.dialled()
		for _, p := range st.peers {
			p.Close()
		}
		time.Sleep(time.Minute)
		// Those of the window that were in flight before the first failed, then one for each pause.
		if d := st.dialled() - n; d < 5 || d > firstDials+20 {
			t.Errorf("%d dials in a minute of refusals", d)
		}
		st.set(func() { st.refuses = nil })
		time.Sleep(mostKeepPause + time.Second)
		if got := s.stats(); got.Idle != 50 {
			t.Errorf("%d idle when it accepts again, want 50", got.Idle)
		}
	})
}

// Such pauses end when a request's dial shows that the host is back.
func TestMinIdleComesBackWithTheHost(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: keepFew}, func(s *script) {
		st := &site{s: s, dialTime: ms}
		defer st.run()()
		s.fetch("GET")
		time.Sleep(time.Second)
		st.set(func() { st.refuses = syscall.ECONNREFUSED })
		s.tr.CloseIdleConnections()
		time.Sleep(2 * mostKeepPause) // many failures
		st.set(func() { st.refuses = nil })
		s.fetch("GET")
		time.Sleep(100 * ms)
		if got := s.stats(); got.Idle != keepFew {
			t.Errorf("%d idle, want %d", got.Idle, keepFew)
		}
	})
}

// A peer that closes unused connections at once isn't stormed either.
func TestMinIdleDoesNotStormAHostThatClosesAtOnce(t *testing.T) {
	for _, life := range []time.Duration{5 * ms, 60 * ms, 240 * ms} {
		t.Run(life.String(), func(t *testing.T) {
			inBubble(t, Config{MinIdlePerHost: 50}, func(s *script) {
				st := &site{s: s, dialTime: ms, fresh: life}
				defer st.run()()
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(500 * ms) {
					if _, err := s.fetch("GET"); err != nil {
						t.Fatal(err)
					}
				}
				// At most twice 50 in a second, if it lets them live for a time that can be learnt.
				most := 21*2*50 + 40 // those of the requests
				if life < leastIdle {
					most = 200 // 40 of them for requests
				}
				if n := st.dialled(); n > most {
					t.Errorf("%d dials in 20 s, want at most %d", n, most)
				}
			})
		})
	}
}

// CloseIdleConnections closes what is idle. A host in use gets new ones.
func TestMinIdleAfterCloseIdleConnections(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: keepFew}, func(s *script) {
		st := &site{s: s, dialTime: ms}
		defer st.run()()
		s.fetch("GET")
		time.Sleep(time.Second)
		for _, closeThem := range []func(){s.tr.CloseIdleConnections, func() { s.tr.Drain("host.test:80") }} {
			before := st.dialled()
			closeThem()
			if got := s.stats(); got.Idle != 0 {
				t.Errorf("%d idle right after", got.Idle)
			}
			time.Sleep(2 * ms)
			if got := s.stats(); got.Idle != keepFew || st.dialled()-before != keepFew {
				t.Errorf("%d idle after %d dials, want %d", got.Idle, st.dialled()-before, keepFew)
			}
		}
	})
}

// Shutdown neither waits for the keeper's dials nor lets it begin others.
func TestMinIdleAndTheEndOfTheTransport(t *testing.T) {
	for name, end := range map[string]func(*Transport) error{
		"Close":    (*Transport).Close,
		"Shutdown": func(tr *Transport) error { return tr.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{MinIdlePerHost: keepFew}, func(s *script) {
				s.exchange()
				d := s.wantDial()
				began := time.Now()
				if err := end(s.tr); err != nil || time.Since(began) != 0 {
					t.Errorf("error %v after %v", err, time.Since(began))
				}
				<-d.ctx.Done()
				s.wantDial() // the other one that was in flight
				time.Sleep(time.Minute)
				s.wantNoDial()
			})
		})
	}
}

// A request that waits when the transport shuts down gets the keeper's dial.
func TestShutdownLeavesTheKeepersDialToAWaiter(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: 1}, func(s *script) {
		p := s.exchange()
		tp := s.get()
		p.wantRequest()
		time.Sleep(2 * keepDelay)
		d := s.wantDial()
		waiting := s.get()
		s.wantNoDial()
		done := make(chan error, 1)
		go func() { done <- s.tr.Shutdown(context.Background()) }()
		synctest.Wait()
		d.finish().serve("ok")
		waiting.wantBody("ok")
		p.answer("ok")
		tp.wantBody("ok")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// With more hosts than Base.MaxIdleConns has room for, they don't drive each other out.
func TestMinIdleOfManyHostsUnderOneBound(t *testing.T) {
	cfg := Config{MinIdlePerHost: keepFew, Base: &http.Transport{MaxIdleConns: 2 * keepFew}}
	inBubble(t, cfg, func(s *script) {
		st := &site{s: s, dialTime: ms}
		defer st.run()()
		for _, host := range []string{"a.test", "b.test", "c.test", "d.test"} {
			req, _ := http.NewRequest("GET", "http://"+host, nil)
			resp, err := s.tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		time.Sleep(time.Second)
		before := st.dialled()
		time.Sleep(time.Minute)
		if n := st.dialled() - before; n != 0 {
			t.Errorf("%d dials in a minute in which nothing happened", n)
		}
	})
}

// The wall clock goes on while a machine sleeps, and what idled then is too old.
func TestMinIdleAfterASleep(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: keepFew, ProxyIdleTimeout: time.Minute}, func(s *script) {
		st := &site{s: s, dialTime: ms}
		defer st.run()()
		s.fetch("GET")
		time.Sleep(time.Second)
		h := s.host()
		h.mu.Lock()
		for _, c := range h.idle {
			c.idleSince = c.idleSince.Round(0).Add(-time.Hour)
		}
		h.mu.Unlock()
		before := st.dialled()
		if ready, err := s.fetch("GET"); err != nil || ready {
			t.Errorf("connection ready: %v, error %v: they had all grown too old", ready, err)
		}
		time.Sleep(2 * ms)
		if got := s.stats(); got.Idle != keepFew || st.dialled()-before != keepFew {
			t.Errorf("%d idle after %d dials, want %d", got.Idle, st.dialled()-before, keepFew)
		}
	})
}

// host is the one host that there is.
func (s *script) host() *host {
	s.Helper()
	hosts := s.tr.allHosts()
	if len(hosts) != 1 {
		s.Fatalf("%d hosts, want 1", len(hosts))
	}
	return hosts[0]
}

// What comes on an unused connection is no sign that the peer sends something behind its
// answers, for which connections would have to settle.
func TestFarewellOfAnUnusedConnectionIsNotBehindAnAnswer(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: 2}, func(s *script) {
		p := s.exchange()
		unused := s.wantDial().finish()
		io.WriteString(unused, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
		unused.wantClosed()
		s.wantDial().fail(syscall.ECONNREFUSED)
		for range 3 { // without a pause: it would settle in that
			s.wantReused(p)
		}
	})
}

// Over HTTP/2 free streams count.
func TestMinIdleCountsStreams(t *testing.T) {
	h2Bubble(t, Config{MinIdlePerHost: 100}, func(s *script) {
		tp := s.get()
		p := s.wantDial().serveH2(60)
		q := p.wantRequest()
		s.wantDial().serveH2(60)
		s.wantNoDial()
		p.answer(q)
		tp.wantOK()
		time.Sleep(time.Second)
		s.wantNoDial()
		tps := s.gets(25)
		time.Sleep(2 * keepDelay)
		third := s.wantDial().serveH2(60)
		s.wantNoDial()
		third.wantNoRequest()
		for range tps {
			p.serve()
		}
		for _, tp := range tps {
			tp.wantOK()
		}
	})
}

// A dial that takes long, and that only the keeper wants, isn't taken for one that was left
// behind by requests.
func TestKeepersDialIsNoOrphan(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: 2}, func(s *script) {
		p := s.exchange()
		d := s.wantDial()
		a := s.get()
		waiting := s.get()
		s.wantNoDial()
		p.serve("ok")
		a.wantBody("ok")
		p.serve("ok")
		waiting.wantBody("ok") // the dial is one too many for requests now
		time.Sleep(2 * orphanGrace)
		if d.ctx.Err() != nil {
			t.Error("the keeper's dial was cut")
		}
		d.finish()
		if st := s.stats(); st.Idle != 2 {
			t.Errorf("%d idle, want 2", st.Idle)
		}
	})
}

// Many hosts, each used once, leave no timers behind that keep them in memory.
func TestForgottenHostHasNoKeeper(t *testing.T) {
	inBubble(t, Config{MinIdlePerHost: 1}, func(s *script) {
		a := s.get()
		h := s.host()
		s.wantDial().fail(syscall.ECONNREFUSED)
		a.wantError(PhaseDial, syscall.ECONNREFUSED)
		s.tr.forget(h, time.Now(), 0)
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.gone || h.keeper.due.IsZero() || h.keeper.timer.Stop() {
			t.Errorf("forgotten: %t, the keeper runs at %v", h.gone, h.keeper.due)
		}
	})
}
