package peer

import (
	"crypto/tls"
	"fmt"
	"testing"
	"time"
)

func dialConfig(a *Authority) *tls.Config {
	return &tls.Config{RootCAs: a.Roots(), ServerName: "127.0.0.1"}
}

// until polls a condition that no event tells of.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("gave up waiting")
		}
		<-tick.C
	}
}

// inState waits until n connections that carried a request are in a state.
func inState(t *testing.T, s *Server, state connState, n int) {
	t.Helper()
	until(t, func() bool {
		got := 0
		for _, c := range s.conns() {
			c.mu.Lock()
			if c.state == state && c.requests > 0 {
				got++
			}
			c.mu.Unlock()
		}
		return got == n
	})
}

func TestDropIdle(t *testing.T) {
	for _, style := range []Style{FIN, BareFIN, RST} {
		t.Run(string(style), func(t *testing.T) {
			run(t, Faults{}, func(t *testing.T, s *Server, a *Authority) {
				cs := []*client{dial(t, s.Addr(), a), dial(t, s.Addr(), a)}
				for _, c := range cs {
					c.do(1)
				}
				inState(t, s, stateIdle, 2)
				if n := s.Drop(Drop{Style: style}); n != 2 {
					t.Errorf("dropped %d, want 2", n)
				}
				for _, c := range cs {
					c.ends(style)
				}
				if n := s.Drop(Drop{Style: style}); n != 0 {
					t.Errorf("dropped %d more, want 0", n)
				}
			})
		})
	}
}

// TestDropIdleSparesBusy checks that a connection with a request on it serves on.
func TestDropIdleSparesBusy(t *testing.T) {
	run(t, Faults{Delay: 50 * time.Millisecond}, func(t *testing.T, s *Server, a *Authority) {
		c := dial(t, s.Addr(), a)
		c.send(1)
		until(t, func() bool { return s.Report().Requests == 1 })
		if n := s.Drop(Drop{}); n != 0 {
			t.Errorf("dropped %d, want 0", n)
		}
		c.receive(1)
		c.do(2)
	})
}

func TestDropBusyClosesBehindTheAnswer(t *testing.T) {
	for _, style := range []Style{FIN, BareFIN} {
		t.Run(string(style), func(t *testing.T) {
			run(t, Faults{BodySize: 100}, func(t *testing.T, s *Server, a *Authority) {
				c := dial(t, s.Addr(), a)
				c.do(1)
				if n := s.Drop(Drop{Style: style, Busy: true}); n != 1 {
					t.Errorf("dropped %d, want 1", n)
				}
				if resp := c.do(2); resp.Close {
					t.Error("the answer announces the close")
				}
				c.ends(style)
				dial(t, s.Addr(), a).do(3) // a new connection isn't affected
			})
		})
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		at       CutPoint
		executed int
	}{{CutBefore, 0}, {CutAfter, 1}, {CutHalf, 1}}
	for _, tt := range tests {
		for _, style := range []Style{FIN, BareFIN, RST} {
			t.Run(fmt.Sprint(tt.at, "/", style), func(t *testing.T) {
				run(t, Faults{BodySize: 100}, func(t *testing.T, s *Server, a *Authority) {
					c := dial(t, s.Addr(), a)
					c.do(1)
					s.SetCut(Cut{At: tt.at, Style: style, Next: 1})
					c.send(2)
					if _, err := c.tryReceive(); err == nil {
						t.Error("the answer came whole")
					}
					c = dial(t, s.Addr(), a)
					c.do(3) // the cut is used up
					s.Close()
					wantExecuted(t, s.Report(), 1, tt.executed, 1)
				})
			})
		}
	}
}

// TestCutHalfShowsAnAnswer tells CutHalf from CutAfter: the status line arrives.
func TestCutHalfShowsAnAnswer(t *testing.T) {
	run(t, Faults{BodySize: 100}, func(t *testing.T, s *Server, a *Authority) {
		for _, tt := range []struct {
			at   CutPoint
			some bool
		}{{CutAfter, false}, {CutHalf, true}} {
			s.SetCut(Cut{At: tt.at, Next: 1})
			c := dial(t, s.Addr(), a)
			c.send(1)
			if line, err := c.br.ReadString('\n'); (err == nil) != tt.some {
				t.Errorf("cut %s: first line %q, %v", tt.at, line, err)
			}
		}
	})
}
