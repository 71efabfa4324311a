package pool

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/health"
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

// What the kernel can tell of those that idled as long, it's asked: the dead leave, the others
// stay.
func TestStaleConnectionHasItsSiblingsLookedAt(t *testing.T) {
	r := newRestRig(t, false)
	peers := r.idles(4)
	h := r.tr.allHosts()[0]
	h.mu.Lock()
	conns := slices.Clone(h.idle) // the oldest first
	h.mu.Unlock()
	ends := make([]net.Conn, len(conns))
	for i, c := range conns {
		c.watch.Stop() // which would have told before
		ends[i] = peers[c.nc.LocalAddr().String()]
	}
	for _, i := range []int{0, 2, 3} {
		ends[i].Close()
		eventually(t, "the end has arrived", func() bool {
			v, _ := health.Socket(conns[i].nc)
			return v == health.Dead
		})
	}
	go func() {
		if _, err := ends[1].Read(make([]byte, 4096)); err == nil {
			write(ends[1], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}()
	roundTrip(t, r.tr, r.url)
	if st := r.tr.Stats().Hosts[0]; st.Stale != 3 || st.IdleCloses["fin"] != 3 || st.Reused != 1 || st.Dials != 4 || st.Idle != 1 {
		t.Errorf("stats %+v", st)
	}
}

// An HTTP/2 connection from which nothing comes makes idle ones suspect that had been silent for
// as long. Younger ones stay.
func TestSilentStreamCondemnsConnectionsThatIdledAsLong(t *testing.T) {
	base := &http.Transport{ResponseHeaderTimeout: 200 * ms}
	h2Bubble(t, Config{Base: base}, func(s *script) {
		tps := s.gets(3)
		peers := []*h2Peer{s.wantDial().serveH2(1)}
		for range 2 {
			peers = append(peers, s.wantDial().serveH2(1))
		}
		for _, i := range []int{0, 1, 2} { // idle in this order
			time.Sleep(50 * ms)
			peers[i].serve()
			tps[i].wantOK()
		}
		young := s.get() // on the last, which lives, and is to be younger than the silent one
		old := s.get()
		time.Sleep(100 * ms)
		peers[2].serve()
		young.wantOK()
		time.Sleep(100 * ms)
		<-old.done
		synctest.Wait()
		peers[0].wantClosed()
		peers[2].wantOpen()
		if st := s.stats(); st.ClosedBy[ReasonSuspect] != 1 {
			t.Errorf("closed by %v", st.ClosedBy)
		}
	})
}
