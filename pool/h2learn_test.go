package pool

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// h2Exchange makes one request on an HTTP/2 connection of its own and returns the peer, idle now.
func (s *script) h2Exchange() *h2Peer {
	s.Helper()
	tp := s.get()
	p := s.wantDial().serveH2(100)
	p.serve()
	tp.wantOK()
	return p
}

// A peer ends an idle HTTP/2 connection with a GOAWAY or without a word. Either teaches when.
func TestLearnsFromIdleHTTP2Connections(t *testing.T) {
	for how, end := range map[string]func(*h2Peer){
		"goaway": func(p *h2Peer) { p.goAway(1, http2.ErrCodeNo) },
		"fin":    (*h2Peer).close,
	} {
		t.Run(how, func(t *testing.T) {
			h2Bubble(t, Config{}, func(s *script) {
				for range fewAgree {
					p := s.h2Exchange()
					time.Sleep(2 * time.Second)
					end(p)
					synctest.Wait()
				}
				st := s.stats()
				if d := st.LearntIdle - 2*time.Second; d < 0 || d > 10*ms || st.IdleLimitSource != "learnt" {
					t.Errorf("learnt %v, limit from %s", st.LearntIdle, st.IdleLimitSource)
				}
				if st.IdleCloses[how] != fewAgree || len(st.IdleCloses) != 1 {
					t.Errorf("closes %v, want %d by %s", st.IdleCloses, fewAgree, how)
				}
				p := s.h2Exchange()
				time.Sleep(1900 * ms)
				p.wantClosed()
			})
		})
	}
}

func TestWitnessOfHTTP2(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		for range fewAgree {
			p := s.h2Exchange()
			time.Sleep(2 * time.Second)
			p.close()
			synctest.Wait()
		}
		time.Sleep(learntFor / 2)
		p := s.h2Exchange()
		time.Sleep(1900 * ms)
		p.wantOpen()
		q := s.h2Exchange() // not on the witness
		time.Sleep(100 * ms)
		p.goAway(1, http2.ErrCodeNo)
		p.wantClosed()
		q.wantOpen()
		if st := s.stats(); st.IdleCloses["goaway"] != 1 || st.LearntIdle == 0 {
			t.Errorf("closes %v, learnt %v", st.IdleCloses, st.LearntIdle)
		}
	})
}

// learnH2 has the peer close three HTTP/2 connections, each when it has idled for 2 s, and lets
// so much time pass that another close is wanted.
func (s *script) learnH2() {
	s.Helper()
	for range fewAgree {
		p := s.h2Exchange()
		time.Sleep(2 * time.Second)
		p.close()
		synctest.Wait()
	}
	time.Sleep(learntFor / 2)
}

// A witness that ends without a GOAWAY is one as well.
func TestWitnessOfHTTP2EndsWithoutAWord(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		s.learnH2()
		p := s.h2Exchange()
		time.Sleep(1900 * ms)
		p.wantOpen()
		time.Sleep(100 * ms)
		p.close()
		st := s.stats()
		if st.IdleCloses["fin"] != fewAgree+1 || st.ClosedBy[ReasonPeerClosed] != fewAgree+1 || st.LearntIdle == 0 {
			t.Errorf("closes %v, closed by %v, learnt %v", st.IdleCloses, st.ClosedBy, st.LearntIdle)
		}
	})
}

// Nobody may hope for a witness: where one connection is to do for all, the next request would
// wait for as long as the witness lives, and with a failed dial those who share it.
func TestWitnessIsNobodysHope(t *testing.T) {
	witness := func(s *script) *h2Peer {
		s.learnH2()
		p := s.h2Exchange()
		time.Sleep(1900 * ms)
		p.wantOpen()
		return p
	}
	t.Run("one connection for all", func(t *testing.T) {
		cfg := Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}}
		h2Bubble(t, cfg, func(s *script) {
			p := witness(s)
			s.h2Exchange()
			p.wantOpen()
		})
	})
	t.Run("a dial that fails", func(t *testing.T) {
		h2Bubble(t, Config{}, func(s *script) {
			p := witness(s)
			tps := s.gets(3)
			refused := errors.New("refused")
			s.wantDial().fail(refused)
			for _, tp := range tps {
				tp.wantError(PhaseDial, refused)
			}
			s.wantNoDial()
			p.wantOpen()
		})
	})
	t.Run("a peer that takes no streams for now", func(t *testing.T) {
		h2Bubble(t, Config{}, func(s *script) {
			witness(s).settings(0)
			s.h2Exchange()
		})
	})
}

func TestWitnessOfHTTP2ThatLivesOnDisproves(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		s.learnH2()
		p := s.h2Exchange()
		time.Sleep(2200 * ms)
		p.wantClosed()
		if st := s.stats(); st.LearntIdle != 0 || st.ClosedBy[ReasonIdleLimit] != 1 {
			t.Errorf("learnt %v, closed by %v", st.LearntIdle, st.ClosedBy)
		}
	})
}

// The idle time of an HTTP/2 connection is its idle time, and the limit is kept also where no
// sweep comes in time.
func TestIdleTimeOfHTTP2(t *testing.T) {
	h2Bubble(t, Config{ProxyIdleTimeout: time.Second}, func(s *script) {
		p := s.h2Exchange()
		time.Sleep(899 * ms)
		tp := s.get()
		p.wantRequest()
		p.close()
		if e := tp.wantError(PhaseSent, nil); e.Idle < 890*ms || e.Idle > 900*ms || !e.Reused {
			t.Errorf("idle %v, reused %v", e.Idle, e.Reused)
		}

		s.h2Exchange()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		h.stopSweepLocked()
		h.mu.Unlock()
		time.Sleep(time.Second)
		s.h2Exchange()
	})
}
