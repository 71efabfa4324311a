package peer

import (
	"testing"

	"example.com/connwise/health"
)

// TestAnswerAndFINLeaveTogether checks that a client which has the last answer can
// see the FIN at once: whoever looks before the next request can't lose it.
func TestAnswerAndFINLeaveTogether(t *testing.T) {
	run(t, Faults{BodySize: 100}, func(t *testing.T, s *Server, a *Authority) {
		for n := range 300 {
			c := dial(t, s.Addr(), a)
			c.do(1)
			s.Drop(Drop{Style: BareFIN, Busy: true})
			c.do(2)
			if v, err := health.Socket(c.raw.Conn); v != health.Dead {
				t.Fatalf("try %d: the connection looks %v (%v) behind its last answer", n, v, err)
			}
			_ = c.raw.Close()
		}
	})
}
