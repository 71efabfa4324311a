package pool

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// load makes requests from so many goroutines for a while, each after a pause from the last
// one's answer. All have to find a connection ready.
func (s *script) load(workers int, pause, d time.Duration) (requests int) {
	s.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for range workers {
		wg.Go(func() {
			for time.Now().Before(end) {
				s.mustFetch()
				mu.Lock()
				requests++
				mu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	wg.Wait()
	return requests
}

// warmUp opens n connections.
func (s *script) warmUp(n int) {
	s.Helper()
	if err := s.tr.Warm(s.Context(), "http://host.test", n); err != nil {
		s.Fatal(err)
	}
}

// No request waits for a dial because a connection has grown too old, and none is used then.
func TestBusyConnectionsAreRenewedBeforeTheirAge(t *testing.T) {
	inBubble(t, Config{MaxConnAge: 2 * time.Second}, func(s *script) {
		st := &site{s: s, dialTime: 30 * ms, answer: 5 * ms}
		defer st.run()()
		s.warmUp(10)
		s.load(10, 20*ms, 7*time.Second)
		got := s.stats()
		if got.ClosedBy[ReasonMaxAge] < 30 || got.Dials > 60 || st.most > 20 {
			t.Errorf("%d dials, %d open at the most, closed by %v", got.Dials, st.most, got.ClosedBy)
		}
	})
}

// The new one comes first, and the old one's requests end on it.
func TestSuccessorComesBeforeTheAge(t *testing.T) {
	inBubble(t, Config{MaxConnAge: 2 * time.Second, Jitter: func() float64 { return 0 }}, func(s *script) {
		old := s.exchange()
		for range 15 {
			time.Sleep(125 * ms)
			s.wantReused(old)
		}
		time.Sleep(2*time.Second - 15*125*ms - leastLead)
		young := s.wantDial().finish()
		old.wantOpen()
		s.wantReused(young) // the youngest is used first
		time.Sleep(leastLead)
		old.wantClosed()
		s.wantReused(young)
		s.wantNoDial()
		if st := s.stats(); st.DialsAhead != 1 || st.Dials != 2 {
			t.Errorf("%d dials, %d ahead, want 2 and 1", st.Dials, st.DialsAhead)
		}
	})
}

// Of two connections the one that is used gets a successor.
func TestOnlyTheBusyOneIsRenewed(t *testing.T) {
	inBubble(t, Config{MaxConnAge: 10 * time.Second}, func(s *script) {
		st := &site{s: s, dialTime: ms, answer: ms}
		defer st.run()()
		s.warmUp(2)
		s.load(1, 100*ms, 12*time.Second)
		if got := s.stats(); got.DialsAhead != 3 || got.Open != 1 {
			t.Errorf("%d dials ahead, %d open, want 3 and 1", got.DialsAhead, got.Open)
		}
	})
}

// A connection that nobody uses gets no successor.
func TestIdleHostsAreNotRenewed(t *testing.T) {
	inBubble(t, Config{MaxConnAge: 10 * time.Second, MaxRequestsPerConn: 2}, func(s *script) {
		p := s.exchange()
		time.Sleep(10 * time.Second)
		p.wantClosed()
		s.wantNoDial()
		p = s.exchange()
		time.Sleep(busyFor)
		s.wantReused(p) // the second, and last
		s.wantNoDial()
		p.wantClosed()
	})
}

// Under a full limit the old one has to go first, and its slot is dialled again at once.
func TestSuccessorUnderAFullLimit(t *testing.T) {
	inBubble(t, Config{MaxConnAge: time.Second, MaxConnsPerHost: 1, Jitter: func() float64 { return 0 }}, func(s *script) {
		old := s.exchange()
		time.Sleep(950 * ms)
		s.wantReused(old)
		s.wantNoDial()
		tp := s.get()
		old.wantRequest()
		time.Sleep(100 * ms)
		s.wantNoDial()
		old.answer("ok")
		tp.wantBody("ok")
		old.wantClosed()
		young := s.wantDial().finish()
		s.wantReused(young)

		time.Sleep(950 * ms) // and where a request waits for the slot, it gets the one dial
		tp = s.get()
		young.wantRequest()
		waiting := s.get()
		time.Sleep(100 * ms)
		young.answer("ok")
		tp.wantBody("ok")
		third := s.wantDial().finish()
		third.serve("ok")
		waiting.wantBody("ok")
		s.wantReused(third)
		s.wantNoDial()
	})
}

func TestMaxRequestsPerConnIsExact(t *testing.T) {
	for _, most := range []int{1, 2, 7} {
		inBubble(t, Config{MaxRequestsPerConn: most}, func(s *script) {
			st := &site{s: s, dialTime: ms, answer: ms}
			defer st.run()()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 70 {
						if _, err := s.fetch("POST"); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			got := s.stats()
			if slices.Max(st.carried) != most {
				t.Errorf("connections carried %v requests, want at most %d", st.carried, most)
			}
			if n := uint64(4 * 70 / most); got.ClosedBy[ReasonMaxRequests] < n-4 || got.Dials > 2*n {
				t.Errorf("most %d: %d dials, closed by %v", most, got.Dials, got.ClosedBy)
			}
		})
	}
}

// What a connection has left is used up before its successor is, or one would lie idle for each.
func TestPredecessorsAreUsedUp(t *testing.T) {
	for _, least := range []int{0, 3} {
		inBubble(t, Config{MaxRequestsPerConn: 20, MinIdlePerHost: least}, func(s *script) {
			st := &site{s: s, dialTime: ms, answer: ms}
			defer st.run()()
			const n = 600
			for range n {
				if _, err := s.fetch("POST"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(ms)
			}
			if got := s.stats(); got.Open > least+3 || got.Dials > n/20+10 {
				t.Errorf("MinIdlePerHost %d: %d open after %d requests, %d dials", least, got.Open, n, got.Dials)
			}
		})
	}
}

// Going by how fast requests come, a successor is there when the last one has been sent.
func TestBusyConnectionsAreRenewedBeforeTheirCount(t *testing.T) {
	inBubble(t, Config{MaxRequestsPerConn: 100}, func(s *script) {
		st := &site{s: s, dialTime: 10 * ms, answer: 5 * ms}
		defer st.run()()
		s.warmUp(10)
		n := s.load(10, 0, 4*time.Second)
		got := s.stats()
		if slices.Max(st.carried) > 100 || got.Dials > uint64(2*n/100) {
			t.Errorf("%d dials for %d requests, at most %d on a connection", got.Dials, n, slices.Max(st.carried))
		}
	})
}

// The last that MaxRequestsPerConn allows may come while others are under way.
func TestMaxRequestsPerConnCountsStreams(t *testing.T) {
	h2Bubble(t, Config{MaxRequestsPerConn: 5}, func(s *script) {
		tps := s.gets(12)
		var peers []*h2Peer
		for range 3 {
			p := s.wantDial().serveH2(100)
			peers = append(peers, p)
		}
		s.wantNoDialLeft()
		counts := []int{}
		for _, p := range peers {
			counts = append(counts, p.serveAll())
		}
		if !slices.Equal(counts, []int{5, 5, 2}) {
			t.Errorf("the connections carried %v requests", counts)
		}
		for _, tp := range tps {
			tp.wantOK()
		}
		synctest.Wait()
		peers[0].wantClosed()
		peers[1].wantClosed()
		peers[2].wantOpen()
		if st := s.stats(); st.ClosedBy[ReasonMaxRequests] != 2 {
			t.Errorf("closed by %v, want two by their count", st.ClosedBy)
		}
	})
}

// wantNoDialLeft lets those that are under way be: they are the keeper's.
func (s *script) wantNoDialLeft() {
	s.Helper()
	if st := s.stats(); st.Waiting != 0 {
		s.Fatalf("%d requests wait", st.Waiting)
	}
}

// serveAll answers what has come, and reports how much that was.
func (p *h2Peer) serveAll() (n int) {
	p.s.Helper()
	synctest.Wait()
	for {
		select {
		case f := <-p.frames:
			if f.Request != nil {
				p.answer(f.Request)
				n++
			}
		default:
			return n
		}
	}
}

// The one HTTP/2 connection that carries all is replaced before it goes.
func TestSharedConnectionIsRenewedBeforeItsAge(t *testing.T) {
	h2Bubble(t, Config{MaxConnAge: 2 * time.Second, Jitter: func() float64 { return 0 }}, func(s *script) {
		long := s.get()
		old := s.wantDial().serveH2(100)
		q := old.wantRequest()
		for range 15 {
			time.Sleep(125 * ms)
			tp := s.get()
			old.serve()
			tp.wantOK()
		}
		time.Sleep(2*time.Second - 15*125*ms - leastLead)
		young := s.wantDial().serveH2(100)
		time.Sleep(leastLead)
		tp := s.get()
		s.wantNoDial()
		young.serve()
		tp.wantOK()
		old.wantOpen()
		old.answer(q)
		long.wantOK()
		synctest.Wait()
		old.wantClosed()
	})
}

// With MinIdlePerHost, a connection on which few requests are left counts for few.
func TestMinIdleCountsTheRequestsThatAreLeft(t *testing.T) {
	h2Bubble(t, Config{MinIdlePerHost: 10, MaxRequestsPerConn: 12}, func(s *script) {
		tp := s.get()
		p := s.wantDial().serveH2(100)
		p.serve()
		tp.wantOK()
		s.wantNoDial()
		for range 2 {
			tp := s.get()
			p.serve()
			tp.wantOK()
		}
		time.Sleep(2 * keepDelay)
		s.wantDial().serveH2(100)
		time.Sleep(time.Second)
		s.wantNoDial()
	})
}

// All together: whatever ends connections, nobody waits for a dial.
func TestNoRequestWaitsForADial(t *testing.T) {
	cfg := Config{MinIdlePerHost: 30, ProxyIdleTimeout: time.Second, MaxConnAge: 2 * time.Second, MaxRequestsPerConn: 100}
	inBubble(t, cfg, func(s *script) {
		st := &site{s: s, dialTime: 5 * ms, answer: 5 * ms}
		defer st.run()()
		s.warmUp(30)
		var wg sync.WaitGroup
		wg.Go(func() { s.load(2, 3*ms, 10*time.Second) })
		for range 10 {
			time.Sleep(900 * ms)
			for range 25 {
				wg.Go(s.mustFetch)
			}
		}
		wg.Wait()
		if n := slices.Max(st.carried); n > 100 {
			t.Errorf("a connection carried %d requests", n)
		}
		if got := s.stats(); got.Dials > 30*30 {
			t.Errorf("%d dials in 10 s", got.Dials)
		}
	})
}
