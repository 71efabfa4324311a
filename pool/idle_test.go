package pool

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// wantReused sends a request that must go out on p.
func (s *script) wantReused(p *peerConn) {
	s.Helper()
	tp := s.get()
	s.wantNoDial()
	p.serve("again")
	tp.wantBody("again")
}

// wantRenewed sends a request that must go out on a new connection.
func (s *script) wantRenewed() *peerConn {
	s.Helper()
	tp := s.get()
	p := s.wantDial().finish()
	p.serve("fresh")
	tp.wantBody("fresh")
	return p
}

func TestIdleLimitIsExact(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    Config
		fields []string
		limit  time.Duration
		source string
	}{
		{"configured", Config{ProxyIdleTimeout: time.Second}, nil, 900 * ms, "configured"},
		{"configured with a margin", Config{ProxyIdleTimeout: time.Second, IdleMargin: 300 * ms}, nil, 700 * ms, "configured"},
		{"announced", Config{}, []string{"Keep-Alive: timeout=2, max=100"}, 1800 * ms, "announced"},
		{"announced, one second", Config{}, []string{"Keep-Alive: timeout=1"}, 900 * ms, "announced"},
		{"announced nonsense", Config{ProxyIdleTimeout: time.Second}, []string{"Keep-Alive: timeout=0"}, 900 * ms, "configured"},
		{"the transport's own", Config{Base: &http.Transport{IdleConnTimeout: time.Second}}, nil, 1000 * ms, "transport"},
		{"per host", Config{ProxyIdleTimeout: time.Minute, Hosts: map[string]HostConfig{"host.test:80": {ProxyIdleTimeout: time.Second}}}, nil, 900 * ms, "configured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.cfg, func(s *script) {
				tp := s.get()
				p := s.wantDial().finish()
				p.serve("ok", tt.fields...)
				tp.wantBody("ok")
				if st := s.stats(); st.IdleLimit != tt.limit || st.IdleLimitSource != tt.source {
					t.Errorf("limit %v from %s, want %v from %s", st.IdleLimit, st.IdleLimitSource, tt.limit, tt.source)
				}
				time.Sleep(tt.limit - 1)
				s.wantReused(p)
				time.Sleep(tt.limit - 1)
				p.wantOpen()
				time.Sleep(time.Nanosecond)
				s.wantRenewed()
			})
		})
	}
}

// The sweeper closes what is over its limit, without a request that asks.
func TestIdleConnectionsAreSweptOnTime(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: time.Second}, func(s *script) {
		p := s.exchange()
		time.Sleep(900 * time.Millisecond)
		p.wantClosed()
		if st := s.stats(); st.Open != 0 || st.ClosedBy[ReasonIdleLimit] != 1 {
			t.Errorf("%+v, want one closed by its idle limit", st)
		}
	})
}

// An answer that lies unread in the client's buffers was sent long ago: the proxy's timer
// has run since then.
func TestIdleAgeCountsFromTheLastByteRead(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: time.Second}, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		p.serve("ok") // head and body come in one segment
		tp.wantHead()
		time.Sleep(950 * time.Millisecond)
		tp.wantBody("ok")
		p.wantClosed()
	})
}

func TestMaxConnAgeWithJitter(t *testing.T) {
	cfg := Config{MaxConnAge: 10 * time.Second, Jitter: func() float64 { return 0.5 }}
	inBubble(t, cfg, func(s *script) {
		p := s.exchange()
		time.Sleep(9500*time.Millisecond - 1)
		s.wantReused(p)
		time.Sleep(time.Nanosecond)
		p.wantClosed()
		s.wantRenewed()
		if st := s.stats(); st.ClosedBy[ReasonMaxAge] != 1 {
			t.Errorf("closed by %v, want one by its age", st.ClosedBy)
		}
	})
}

// A connection that grows too old while in use finishes its request.
func TestMaxConnAgeWhileInUse(t *testing.T) {
	cfg := Config{MaxConnAge: time.Second, Jitter: func() float64 { return 0 }}
	inBubble(t, cfg, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		time.Sleep(2 * time.Second)
		p.answer("ok")
		tp.wantBody("ok")
		p.wantClosed()
	})
}

func TestMaxIdlePerHostKeepsTheYoungest(t *testing.T) {
	inBubble(t, Config{MaxIdlePerHost: 1}, func(s *script) {
		a, b := s.get(), s.get()
		pa, pb := s.wantDial().finish(), s.wantDial().finish()
		pa.serve("x")
		pb.serve("x")
		a.wantBody("x")
		b.wantBody("x")
		if st := s.stats(); st.Idle != 1 || st.ClosedBy[ReasonIdleCap] != 1 {
			t.Errorf("%+v, want one idle and one closed by the cap", st)
		}
	})
}

func TestMaxIdleConnsDropsTheOldestOfAllHosts(t *testing.T) {
	inBubble(t, Config{Base: &http.Transport{MaxIdleConns: 2}}, func(s *script) {
		var peers []*peerConn
		for _, host := range []string{"a.test", "b.test", "c.test"} {
			req := s.request("GET", nil)
			req.URL.Host = host
			tp := s.start(req)
			p := s.wantDial().finish()
			p.serve("x")
			tp.wantBody("x")
			peers = append(peers, p)
			time.Sleep(time.Second)
		}
		peers[0].wantClosed()
		peers[1].wantOpen()
		peers[2].wantOpen()
	})
}

func TestDisableKeepAlives(t *testing.T) {
	inBubble(t, Config{Base: &http.Transport{DisableKeepAlives: true}}, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		req, _ := p.wantRequest()
		if !req.Close {
			t.Error("the request doesn't say Connection: close")
		}
		p.answer("ok")
		tp.wantBody("ok")
		p.wantClosed()
		s.wantRenewed()
	})
}

func TestUnusedHostsAreForgotten(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: time.Second}, func(s *script) {
		s.exchange()
		if n := len(s.tr.Stats().Hosts); n != 1 {
			t.Fatalf("%d hosts, want 1", n)
		}
		time.Sleep(forgetAfter + time.Second)
		synctest.Wait()
		st := s.tr.Stats()
		if len(st.Hosts) != 0 || s.tr.aliases.n != 0 {
			t.Errorf("%d hosts and %d aliases are remembered", len(st.Hosts), s.tr.aliases.n)
		}
		if st.Total.Opened != 1 || st.Total.Sent != 1 {
			t.Errorf("the total lost what the host had counted: %+v", st.Total)
		}
		s.wantRenewed()
	})
}

// A request that can't be written leaves its connection as it was, and as old.
func TestUnwritableRequestMakesNothingYounger(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: time.Second}, func(s *script) {
		tp := s.get()
		d := s.wantDial()
		tp.cancel()
		<-tp.done
		p := d.finish()
		time.Sleep(800 * ms)
		req := s.request("GET", nil)
		req.URL.Opaque = "/\x01"
		tp = s.start(req)
		tp.wantError(PhaseUnsent, nil)
		p.wantOpen()
		time.Sleep(100 * ms)
		p.wantClosed()
	})
}

// A host doesn't keep the memory of a connection that has left the pool.
func TestIdleStackForgets(t *testing.T) {
	for n := 1; n <= 3; n++ {
		inBubble(t, Config{}, func(s *script) {
			trips := s.gets(n)
			for range trips {
				s.wantDial().finish().serve("ok")
			}
			for _, tp := range trips {
				tp.wantBody("ok")
			}
			s.tr.CloseIdleConnections()
			h := s.tr.allHosts()[0]
			for _, c := range append(h.idle[:cap(h.idle)], h.oneIdle[:]...) {
				if c != nil {
					t.Errorf("%d connections: one that is closed is kept", n)
				}
			}
		})
	}
}
