package pool

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// idlers opens n connections, the first of which is the oldest in the idle stack.
func (s *script) idlers(n int) []*peerConn {
	s.Helper()
	var trips []*trip
	var peers []*peerConn
	for range n {
		trips = append(trips, s.get())
		peers = append(peers, s.wantDial().finish())
	}
	for i, p := range peers {
		time.Sleep(time.Millisecond)
		p.serve("ok")
		trips[i].wantBody("ok")
	}
	return peers
}

// Something on the way has forgotten the connections: no answer comes, and no sign of an end.
// The first request pays for it, and those behind it don't.
func TestSilentConnectionCondemnsThoseThatIdledAsLong(t *testing.T) {
	inBubble(t, Config{Base: &http.Transport{ResponseHeaderTimeout: 200 * ms}}, func(s *script) {
		ps := s.idlers(4)
		time.Sleep(time.Second)
		s.wantReused(ps[3]) // the way is open for this one again
		time.Sleep(150 * ms)

		young := s.get() // takes the youngest, which lives
		old := s.get()   // silent from here on
		ps[3].serve("fine")
		young.wantBody("fine")
		time.Sleep(200 * ms)
		<-old.done
		if e, ok := errors.AsType[*Error](old.err); !ok || e.Phase != PhaseSent || !e.Timeout() {
			t.Fatalf("%v, want a timeout with the request sent", old.err)
		}
		for _, p := range ps[:3] {
			p.wantClosed()
		}
		ps[3].wantOpen()
		if st := s.stats(); st.ClosedBy[ReasonSuspect] != 2 {
			t.Errorf("closed by %v, want two suspects", st.ClosedBy)
		}
		s.wantReused(ps[3])
	})
}

// On a busy connection a missing answer is the request's affair.
func TestSlowAnswerOnABusyConnectionCondemnsNobody(t *testing.T) {
	inBubble(t, Config{Base: &http.Transport{ResponseHeaderTimeout: 200 * ms}}, func(s *script) {
		ps := s.idlers(3)
		time.Sleep(leastSilence - 10*ms)
		tp := s.get()
		time.Sleep(200 * ms)
		<-tp.done
		ps[0].wantOpen()
		ps[1].wantOpen()
		s.wantReused(ps[1])
	})
}
