package pagetest

import (
	"fmt"
	"math"
	"sync"
	"time"

	"example.com/connwise/pool"
)

// A source gives a snapshot that the test sets.
type source struct {
	mu sync.Mutex
	s  pool.Stats
}

func (s *source) Stats() pool.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.s
	c.Hosts = append([]pool.HostStats{}, s.s.Hosts...)
	return c
}

// change changes the hosts.
func (s *source) change(f func(hosts []pool.HostStats) []pool.HostStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Hosts = f(s.s.Hosts)
}

// fleet is a source with n hosts, all different, some with huge counters.
func fleet(n int) *source {
	s := &source{}
	reasons := []pool.CloseReason{pool.ReasonIdleLimit, pool.ReasonPeerClosed, pool.ReasonMaxAge, pool.ReasonGoAway}
	for i := range n {
		h := pool.HostStats{
			Host: fmt.Sprintf("host-%03d.example:443", i), Scheme: "https", Proto: "HTTP/1.1",
			Open: 2 + i%7, Idle: 1 + i%3, Dialing: i % 2, DialWindow: 4,
			IdleLimit: time.Duration(54+i) * time.Second, IdleLimitSource: "learnt", UnusedLimitSource: "none",
			LearntIdle: time.Duration(60+i)*time.Second + 123456*time.Nanosecond, RTT: 230 * time.Microsecond,
			Totals: pool.Totals{
				Sent: uint64(1000003 * (i + 1) % 7919), Reused: uint64(i * 11), Failed: uint64(i % 4), Opened: uint64(i + 9), Closed: uint64(i + 7),
				Dials: uint64(i + 10), DialsFailed: uint64(i % 5), WaitTime: time.Duration(i) * 1234567,
				ClosedBy:   map[pool.CloseReason]uint64{reasons[i%4]: uint64(i + 5), pool.ReasonError: 2},
				IdleCloses: map[string]uint64{"fin": uint64(i), "408": 1},
			},
		}
		h.InUse = h.Open - h.Idle
		if i%10 == 3 {
			h.Waiting, h.Waited, h.WaitTimeouts = i, uint64(i*3), 1
		}
		if i%5 == 1 {
			h.Proto = "HTTP/2.0"
			h.Conns = []pool.ConnStats{{Addr: fmt.Sprintf("192.0.2.%d:443", i%250), Proto: "HTTP/2.0", State: "in use", Age: 90 * time.Second, Requests: 100 + i, Streams: 17, StreamLimit: 250, GoAway: i%2 == 0, PingRTT: 1250 * time.Microsecond, Pings: 3}}
		}
		s.s.Hosts = append(s.s.Hosts, h)
	}
	s.s.Hosts[0].Sent = math.MaxUint64 // beyond what a JavaScript number holds
	if n > 1 {
		s.s.Hosts[1].Sent = 1<<53 + 1
	}
	s.s.Total = s.s.Hosts[0].Totals
	return s
}
