package pool

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// warm calls Warm in a goroutine of its own.
func (s *script) warm(ctx context.Context, n int) chan error {
	done := make(chan error, 1)
	go func() { done <- s.tr.Warm(ctx, "http://host.test/", n) }()
	synctest.Wait()
	return done
}

func (s *script) wantWarm(done chan error, want error) {
	s.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			s.Fatalf("Warm returned %v, want %v", err, want)
		}
		if _, ok := errors.AsType[*Error](err); err != nil && !ok {
			s.Fatalf("Warm returned a %T", err)
		}
	default:
		s.Fatal("Warm has not returned")
	}
}

func (s *script) wantWarming(done chan error) {
	s.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		s.Fatalf("Warm has returned %v", err)
	default:
	}
}

func TestWarm(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 5)
		for range 5 {
			s.wantWarming(done)
			s.wantDial().finish()
		}
		s.wantWarm(done, nil)
		s.wantNoDial()
		if st := s.stats(); st.Idle != 5 || st.DialsAhead != 5 || st.DialsUnused != 0 {
			t.Errorf("%+v, want 5 idle, dialled ahead", st)
		}
		s.wantWarm(s.warm(s.Context(), 5), nil)
		s.wantNoDial()
	})
}

// What is in use counts: so many requests at once needn't dial.
func TestWarmCountsWhatIsThere(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		done := s.warm(s.Context(), 2)
		s.wantDial().finish()
		s.wantWarm(done, nil)
		s.wantNoDial()
		p.serve("ok")
		tp.wantBody("ok")
	})
}

func TestWarmOpensTheWholeWindowAtOnce(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 3*firstDials)
		if st := s.stats(); st.Dialing != firstDials {
			t.Errorf("%d dials are in flight, want the window's %d", st.Dialing, firstDials)
		}
		for range 3 * firstDials {
			s.wantDial().finish()
		}
		s.wantWarm(done, nil)
	})
}

// A request that comes while Warm dials takes the first connection.
func TestWarmServesRequestsFirst(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 1)
		d := s.wantDial()
		tp := s.get()
		s.wantNoDial()
		p := d.finish()
		p.serve("ok")
		tp.wantBody("ok")
		s.wantWarm(done, nil)
		s.wantReused(p)
	})
}

func TestWarmReturnsTheDialsError(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 3)
		s.wantDial().fail(syscall.ECONNREFUSED)
		synctest.Wait()
		err := <-done
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseDial || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Warm returned %v", err)
		}
	})
}

// Where most dials succeed, one that fails is made up for.
func TestWarmBearsSomeFailures(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 3)
		s.wantDial().finish()
		s.wantDial().fail(syscall.ECONNRESET)
		s.wantDial().finish()
		s.wantWarming(done)
		s.wantDial().finish()
		s.wantWarm(done, nil)
	})
}

func TestWarmGivesUpAfterFailuresInARow(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 5)
		s.wantDial().finish()
		for range warmFailures {
			s.wantWarming(done)
			s.wantDial().fail(syscall.ECONNREFUSED)
		}
		s.wantWarm(done, syscall.ECONNREFUSED)
	})
}

func TestWarmEndsWithItsContext(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		done := s.warm(ctx, 1)
		d := s.wantDial()
		time.Sleep(time.Second)
		s.wantWarm(done, context.DeadlineExceeded)
		p := d.finish() // the dial went on
		s.wantReused(p)
	})
}

// A dial that hangs, and that nobody waits for, ends.
func TestWarmsDialsEnd(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		ctx, cancel := context.WithCancel(s.Context())
		done := s.warm(ctx, 2)
		d := s.wantDial()
		cancel()
		s.wantWarm(done, context.Canceled)
		time.Sleep(aheadGrace - 1)
		if d.ctx.Err() != nil {
			t.Error("it ended too early")
		}
		time.Sleep(keepDelay)
		synctest.Wait()
		if d.ctx.Err() == nil || s.stats().Dialing != 0 {
			t.Error("it goes on")
		}
	})
}

func TestWarmWithinTheLimits(t *testing.T) {
	for name, cfg := range map[string]Config{
		"MaxConnsPerHost":   {MaxConnsPerHost: 2},
		"MaxIdlePerHost":    {MaxIdlePerHost: 2},
		"Base.MaxIdleConns": {Base: &http.Transport{MaxIdleConns: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, cfg, func(s *script) {
				done := s.warm(s.Context(), 3)
				s.wantDial().finish()
				s.wantDial().finish()
				s.wantNoDial()
				err := <-done
				if _, ok := errors.AsType[*CallerError](err); !ok || !strings.Contains(err.Error(), name) {
					t.Errorf("Warm returned %v, want an error that names %s", err, name)
				}
				s.wantWarm(s.warm(s.Context(), 2), nil)
				if st := s.stats(); st.Idle != 2 || st.Dials != 2 {
					t.Errorf("%d idle, %d dials, want 2 each", st.Idle, st.Dials)
				}
			})
		})
	}
}

func TestWarmChecksItsArguments(t *testing.T) {
	for _, tt := range []struct {
		url string
		n   int
		ok  bool
	}{
		{"http://host.test", 0, true},
		{"http://host.test", -1, false},
		{"ftp://host.test", 1, false},
		{"/path", 1, false},
		{"http://user:hunter2@ho st/", 1, false},
		{"http://user:hunter2@host.test:port/", 1, false},
	} {
		inBubble(t, Config{}, func(s *script) {
			err := s.tr.Warm(s.Context(), tt.url, tt.n)
			_, caller := errors.AsType[*CallerError](err)
			if (err == nil) != tt.ok || err != nil && !caller {
				t.Errorf("Warm(%q, %d) returned %v", tt.url, tt.n, err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the password: %v", err)
			}
			s.wantNoDial()
		})
	}
	inBubble(t, Config{Base: &http.Transport{DisableKeepAlives: true}}, func(s *script) {
		if err := s.tr.Warm(s.Context(), "http://host.test", 1); err == nil {
			t.Error("Warm returned nil without keep-alives")
		}
	})
}

func TestWarmAndTheEndOfTheTransport(t *testing.T) {
	for name, end := range map[string]func(*Transport){
		"Close":    func(tr *Transport) { tr.Close() },
		"Shutdown": func(tr *Transport) { tr.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				done := s.warm(s.Context(), 2)
				d := s.wantDial()
				began := time.Now()
				end(s.tr)
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %v", took)
				}
				s.wantWarm(done, ErrClosed)
				<-d.ctx.Done()
				s.wantWarm(s.warm(s.Context(), 1), ErrClosed)
			})
		})
	}
}

// Drain retires what Warm has opened so far, and Warm opens others.
func TestWarmDuringADrain(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 2)
		p := s.wantDial().finish()
		d := s.wantDial()
		s.tr.Drain("host.test:80")
		p.wantClosed()
		second, third := s.wantDial(), s.wantDial() // d's connection won't be kept
		d.finish().wantClosed()
		s.wantWarming(done)
		second.finish()
		third.finish()
		s.wantWarm(done, nil)
		s.wantNoDial()
	})
}

// A peer that closes what it has just accepted isn't dialled for ever.
func TestWarmGivesUpAPeerThatClosesAtOnce(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		st := &site{s: s, dialTime: 5 * ms, fresh: 2 * ms}
		defer st.run()()
		err := s.tr.Warm(s.Context(), "http://host.test", 40)
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseDial {
			t.Errorf("Warm returned %v", err)
		}
		if n := st.dialled(); n > 40*manyEarly {
			t.Errorf("%d dials", n)
		}
	})
}

// A host without connections isn't forgotten while Warm waits for it.
func TestWarmingHostIsRemembered(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		p := s.exchange()
		h := s.host()
		h.mu.Lock()
		h.dialNotBefore = time.Now().Add(time.Second)
		h.mu.Unlock()
		p.Close()
		p.wantClosed()
		done := s.warm(s.Context(), 1)
		s.wantWarming(done)
		s.wantNoDial()
		s.tr.forget(h, time.Now(), 0)
		time.Sleep(time.Second)
		s.wantDial().finish()
		s.wantWarm(done, nil)
	})
}

func TestWarmByMany(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		st := &site{s: s, dialTime: ms}
		defer st.run()()
		var wg sync.WaitGroup
		for n := range 50 {
			wg.Go(func() {
				if err := s.tr.Warm(s.Context(), "http://host.test", n); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := st.dialled(); n != 49 {
			t.Errorf("%d dials, want what the largest wants", n)
		}
	})
}

func TestWarmOverHTTP2(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 100)
		p := s.wantDial().finishH2()
		s.wantWarming(done) // the peer hasn't said how many it takes
		p.settings(40)
		s.wantDial().serveH2(40)
		s.wantDial().serveH2(40)
		s.wantWarm(done, nil)
		s.wantNoDial()
		if st := s.stats(); st.Open != 3 {
			t.Errorf("%d connections, want 3", st.Open)
		}
	})
}

// One connection has room for all, mostly.
func TestWarmOverHTTP2TakesOne(t *testing.T) {
	h2Bubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		done := s.warm(s.Context(), 100)
		p := s.wantDial().serveH2(100)
		s.wantWarm(done, nil)
		tp := s.get()
		s.wantNoDial()
		p.serve()
		tp.wantOK()
		err := s.tr.Warm(s.Context(), "http://host.test", 101)
		if _, ok := errors.AsType[*CallerError](err); !ok {
			t.Errorf("Warm returned %v for more than the limit allows", err)
		}
	})
}

func TestWarmOverHTTP2ToAPeerThatHangsUp(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		done := s.warm(s.Context(), 1)
		s.wantDial().finishH2().close()
		synctest.Wait()
		err := <-done
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseDial {
			t.Errorf("Warm returned %v", err)
		}
	})
}
