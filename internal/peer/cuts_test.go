package peer

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestCutter(t *testing.T) {
	var k cutter
	c := Cuts[string]{Every: 3, Posts: []string{"a", "b"}, Others: []string{"x"}}
	got := ""
	for id := range uint64(9) {
		for range 2 { // one that was cut is spared the second time, and doesn't count
			if way, cut := choose(&k, c, id, true); cut {
				got += way
			} else {
				got += "-"
			}
		}
	}
	if want := "--a---b---a---b---"; got != want {
		t.Errorf("POSTs are cut %q, want %q", got, want)
	}
	for id := range uint64(3) {
		if way, cut := choose(&k, c, 100+id, false); cut != (id == 2) || cut && way != "x" {
			t.Errorf("other %d: %q, %v; POSTs don't count", id, way, cut)
		}
	}
	if _, cut := choose(&k, Cuts[string]{Every: 1, Posts: []string{"a"}}, 200, false); cut {
		t.Error("what has no ways is cut")
	}
}

// TestCutsOfEveryRequest cuts each request once.
func TestCutsOfEveryRequest(t *testing.T) {
	for _, tt := range []struct {
		at       CutPoint
		executed int
		begin    string // of the answer that comes
	}{{CutBefore, 1, ""}, {CutAfter, 2, ""}, {CutHead, 2, "HTTP/1.1 200"}, {CutHalf, 2, "HTTP/1.1 200"}} {
		t.Run(string(tt.at), func(t *testing.T) {
			f := Faults{BodySize: 100, Cuts: Cuts[Cut]{Every: 1, Posts: []Cut{{At: tt.at, Style: FIN}}}}
			run(t, f, func(t *testing.T, s *Server, a *Authority) {
				c := dial(t, s.Addr(), a)
				c.send(1)
				b, err := io.ReadAll(c.br)
				whole := strings.Contains(string(b), "\r\n\r\n")
				if err != nil || !strings.HasPrefix(string(b), tt.begin) || (len(b) > 0) != (tt.begin != "") || whole != (tt.at == CutHalf) {
					t.Errorf("got %q, %v", b, err)
				}
				dial(t, s.Addr(), a).do(1)
				wantExecuted(t, s.Report(), tt.executed)
			})
		})
	}
}

func TestEverySecondConnectionEndsUnannounced(t *testing.T) {
	f := Faults{MaxRequests: 2, Announce: true, Unannounced: 2, BodySize: 10}
	run(t, f, func(t *testing.T, s *Server, a *Authority) {
		for id := 1; id <= 8; id += 2 {
			c := dial(t, s.Addr(), a)
			if c.do(id).Close {
				t.Errorf("request %d: the end is announced too early", id)
			}
			if got, want := c.do(id+1).Close, id%4 == 1; got != want {
				t.Errorf("request %d: announced: %v, want %v", id+1, got, want)
			}
			c.ends(FIN)
		}
	})
}

func TestIdleConnectionFallsSilent(t *testing.T) {
	run(t, Faults{IdleTimeout: 50 * time.Millisecond, Style: Silence}, func(t *testing.T, s *Server, a *Authority) {
		c := dial(t, s.Addr(), a)
		c.do(1)
		c.do(2)
		expireNow(t, c, 120*time.Millisecond)
		c.send(3)
		expireNow(t, c, 50*time.Millisecond)
		_ = c.raw.Close()
		until(t, func() bool { return s.Count().Open == 0 })
		wantExecuted(t, s.Report(), 1, 1, 0)
	})
}

// expireNow reads for a while, in which nothing may come.
func expireNow(t *testing.T, c *client, d time.Duration) {
	t.Helper()
	if err := c.raw.SetReadDeadline(time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if n, err := c.raw.Conn.Read(b); n > 0 || !timedOut(err) {
		t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	if err := c.raw.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

func timedOut(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

func TestDown(t *testing.T) {
	run(t, Faults{}, func(t *testing.T, s *Server, a *Authority) {
		c := dial(t, s.Addr(), a)
		c.do(1)
		wantDown(t, &s.port)
		c.do(2) // what was accepted is served on
		until(t, func() bool {
			nc, err := net.Dial("tcp", s.Addr())
			if err == nil {
				_ = nc.Close()
			}
			return err == nil
		})
		dial(t, s.Addr(), a).do(3)
		s.Down(time.Hour)
	}) // and Close doesn't wait for it
}

// wantDown has a server's port refuse connections.
func wantDown(t *testing.T, p *port) {
	t.Helper()
	p.Down(50 * time.Millisecond)
	if nc, err := net.Dial("tcp", p.Addr()); err == nil {
		_ = nc.Close()
		t.Error("a connection was accepted while nobody listens")
	}
}
