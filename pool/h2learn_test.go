package pool

import (
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
