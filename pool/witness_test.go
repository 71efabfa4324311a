package pool

import (
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// closedAfter lets an idle connection be closed by its peer when it has idled for d.
func (s *script) closedAfter(p *peerConn, d time.Duration) {
	s.Helper()
	time.Sleep(d)
	p.Close()
	synctest.Wait()
}

// learn has the peer close three connections, each when it has idled for d.
func (s *script) learn(d time.Duration) {
	s.Helper()
	for range fewAgree {
		s.closedAfter(s.exchange(), d)
	}
	if got := s.stats().LearntIdle; got != d {
		s.Fatalf("learnt %v, want %v", got, d)
	}
}

func TestLearntLimitIsKept(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		s.learn(3 * time.Second)
		if st := s.stats(); st.IdleLimit != 2700*ms || st.IdleLimitSource != "learnt" || st.IdleCloses["fin"] != fewAgree {
			t.Errorf("limit %v from %s, closes %v", st.IdleLimit, st.IdleLimitSource, st.IdleCloses)
		}
		p := s.exchange()
		time.Sleep(2700*ms - 1)
		s.wantReused(p)
		time.Sleep(2700 * ms)
		s.wantRenewed()
	})
}

// Connections that were never used have a limit of their own.
func TestUnusedConnectionsAreLearntApart(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		for range fewAgree {
			tp := s.get()
			d := s.wantDial()
			tp.cancel()
			<-tp.done
			s.closedAfter(d.finish(), time.Second)
		}
		st := s.stats()
		if st.UnusedLimit != 900*ms || st.UnusedLimitSource != "learnt" || st.IdleLimit != 0 {
			t.Errorf("unused %v from %s, used %v", st.UnusedLimit, st.UnusedLimitSource, st.IdleLimit)
		}
		p := s.exchange()
		time.Sleep(time.Minute)
		s.wantReused(p)
	})
}

// What was learnt of used connections goes for those that were never used too, as long as
// nothing shows that the peer is less patient with them.
func TestUnusedConnectionsKeepToTheUsedLimit(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		s.learn(time.Second)
		tp := s.get()
		d := s.wantDial()
		tp.cancel()
		<-tp.done
		p := d.finish()
		if st := s.stats(); st.UnusedLimit != 900*ms || st.UnusedLimitSource != "learnt" || st.LearntUnused != 0 {
			t.Errorf("unused %v from %s, learnt %v", st.UnusedLimit, st.UnusedLimitSource, st.LearntUnused)
		}
		time.Sleep(900 * ms)
		p.wantClosed()
	})
}

// A close that crosses a request costs the request, and teaches as much as one that came
// before it.
func TestCrossedClosesTeach(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		for range fewAgree {
			p := s.exchange()
			time.Sleep(time.Second)
			tp := s.get()
			p.wantRequest()
			p.Close()
			tp.wantError(PhaseSent, nil)
		}
		st := s.stats()
		if st.LearntIdle != time.Second || len(st.IdleCloses) != 0 {
			t.Errorf("learnt %v, idle closes %v", st.LearntIdle, st.IdleCloses)
		}
	})
}

// A server that ends a connection while it works on a request has no idle timer.
func TestEndsInMidRequestTeachNothing(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		for range fewAgree {
			p := s.exchange()
			time.Sleep(time.Second)
			tp := s.get()
			p.wantRequest()
			time.Sleep(crossed + ms)
			p.Close()
			tp.wantError(PhaseSent, nil)
		}
		if st := s.stats(); st.LearntIdle != 0 {
			t.Errorf("learnt %v", st.LearntIdle)
		}
	})
}

// When nothing has confirmed the limit for a while, a connection that has reached it is left
// open, unused, until the peer closes it.
func TestWitnessConfirmsWhatWasLearnt(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		s.learn(time.Second)
		p := s.exchange()
		time.Sleep(time.Second)
		p.wantClosed() // it's fresh in mind

		time.Sleep(learntFor - time.Minute)
		p = s.exchange()
		time.Sleep(900 * ms)
		p.wantOpen()
		if st := s.stats(); st.Open != 1 || st.Idle != 1 || st.InUse != 0 {
			t.Errorf("%d open, %d idle, %d in use; want the witness idle", st.Open, st.Idle, st.InUse)
		}
		s.wantRenewed()
		time.Sleep(110 * ms)
		p.Close()
		synctest.Wait()
		if st := s.stats(); st.LearntIdle != time.Second || st.IdleCloses["fin"] != fewAgree+1 {
			t.Errorf("learnt %v, closes %v", st.LearntIdle, st.IdleCloses)
		}
		time.Sleep(learntFor - time.Second)
		if st := s.stats(); st.LearntIdle == 0 {
			t.Error("forgotten, though it was confirmed")
		}
	})
}

func TestWitnessThatLivesOnDisproves(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		s.learn(time.Second)
		time.Sleep(learntFor - time.Minute)
		p := s.exchange()
		time.Sleep(1200 * ms)
		p.wantClosed()
		if st := s.stats(); st.IdleLimit != 0 || st.ClosedBy[ReasonIdleLimit] != 1 {
			t.Errorf("limit %v, closed by %v", st.IdleLimit, st.ClosedBy)
		}
	})
}

// A witness has no right to a slot that a request could have, nor to outlive its pool.
func TestWitnessGivesWay(t *testing.T) {
	witness := func(s *script) *peerConn {
		s.learn(time.Second)
		time.Sleep(learntFor - time.Minute)
		p := s.exchange()
		time.Sleep(920 * ms)
		p.wantOpen()
		return p
	}
	t.Run("to a request under a limit", func(t *testing.T) {
		inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
			p := witness(s)
			s.wantRenewed()
			p.wantClosed()
		})
	})
	t.Run("to an idle connection", func(t *testing.T) {
		inBubble(t, Config{MaxIdlePerHost: 1}, func(s *script) {
			p := witness(s)
			s.wantRenewed()
			p.wantClosed()
		})
	})
	t.Run("to an idle connection of any host", func(t *testing.T) {
		inBubble(t, Config{Base: &http.Transport{MaxIdleConns: 1}}, func(s *script) {
			p := witness(s)
			s.wantRenewed()
			p.wantClosed()
		})
	})
	for name, end := range map[string]func(*Transport){
		"to CloseIdleConnections": (*Transport).CloseIdleConnections,
		"to Drain":                func(tr *Transport) { tr.Drain("host.test:80") },
		"to Close":                func(tr *Transport) { tr.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				p := witness(s)
				end(s.tr)
				p.wantClosed()
			})
		})
	}
}

// Where the watch is late, the end of a witness's time isn't taken for a proof that it lives.
func TestWitnessIsLookedAtBeforeItDisproves(t *testing.T) {
	for name, ends := range map[string]bool{"closed": true, "alive": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestRig(t, false)
			nc := r.idle()
			h, now := r.tr.allHosts()[0], time.Now()
			h.mu.Lock()
			for i := range time.Duration(fewAgree) {
				h.known.used.closed(200*ms, now.Add(i*time.Second-learntFor/2))
			}
			h.refreshLocked(now)
			c := h.idle[0]
			h.mu.Unlock()
			c.watch.Stop()
			if ends {
				nc.Close()
			}
			h.mu.Lock()
			h.sweepByLocked(c.expires())
			h.mu.Unlock()
			eventually(t, "the witness's time is over", func() bool { return r.tr.Stats().Hosts[0].Open == 0 })
			st := r.tr.Stats().Hosts[0]
			if (st.LearntIdle > 0) != ends || (st.IdleCloses["fin"] == 1) != ends || st.ClosedBy[ReasonIdleLimit] != 1 {
				t.Errorf("learnt %v, closes %v, closed by %v", st.LearntIdle, st.IdleCloses, st.ClosedBy)
			}
		})
	}
}

// A localEnd is a connection that this host's kernel gives up, as it does when nobody answers
// its keep-alive probes.
type localEnd struct{ net.Conn }

func (c localEnd) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		err = syscall.ETIMEDOUT
	}
	return n, err
}

// The kernel's own timer is no timer of the peer's.
func TestOwnEndsTeachNothing(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		for range fewAgree {
			tp := s.get()
			d := s.wantDial()
			d.conn = localEnd{d.conn}
			p := d.finish()
			p.serve("ok")
			tp.wantBody("ok")
			s.closedAfter(p, 2*time.Minute)
			p.wantClosed()
		}
		if st := s.stats(); st.LearntIdle != 0 || st.IdleLimit != 0 || st.IdleCloses["unknown"] != fewAgree {
			t.Errorf("learnt %v, limit %v, closes %v", st.LearntIdle, st.IdleLimit, st.IdleCloses)
		}
	})
}

// The timer for unused connections has no witness: what one of them sees is no word about the
// others.
func TestUnusedConnectionIsNoWitness(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		s.learn(time.Second)
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		for i := range time.Duration(fewAgree) {
			h.known.unused.closed(time.Second, time.Now().Add(i*time.Second))
		}
		h.mu.Unlock()
		time.Sleep(learntFor - time.Minute)
		tp := s.get()
		d := s.wantDial()
		tp.cancel()
		<-tp.done
		p := d.finish()
		time.Sleep(910 * ms)
		p.wantClosed()
	})
}

// A connection that is used behind the age at which others were closed shows that it was no
// timer that closed those.
func TestSurvivalDisproves(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		for range fewAgree - 1 {
			s.closedAfter(s.exchange(), time.Second)
		}
		p := s.exchange()
		time.Sleep(1100 * ms)
		s.wantReused(p)
		s.closedAfter(p, time.Second)
		if st := s.stats(); st.LearntIdle != 0 {
			t.Errorf("learnt %v", st.LearntIdle)
		}
	})
}
