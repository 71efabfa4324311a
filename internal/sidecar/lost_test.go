package sidecar

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// TestLostRequests cuts the upstream's connection at each point, and asks the oracle how often the request
// was executed.
func TestLostRequests(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		at           peer.CutPoint
		cuts         int
		field        string
		want         answer // retries alone: the answer is the upstream's
		executed     int
	}{
		{"a POST before", "POST", peer.CutBefore, 1, "", answer{502, false, "sent", 0}, 0},
		{"a POST after", "POST", peer.CutAfter, 1, "", answer{502, false, "sent", 0}, 1},
		{"a POST with a key", "POST", peer.CutAfter, 1, "Idempotency-Key", answer{retries: 1}, 2},
		{"a GET", "GET", peer.CutAfter, 1, "", answer{retries: 1}, 2},
		{"a GET each time", "GET", peer.CutAfter, 3, "", answer{502, false, "sent", 2}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, up := newPeer(t, peer.Faults{})
			s.SetCut(peer.Cut{At: tt.at, Next: tt.cuts})
			r := start(t, up, "retry.interval=1ms")
			var content io.Reader
			if tt.method == "POST" {
				content = strings.NewReader("x")
			}
			fields := []string{peer.HeaderID, "1"}
			if tt.field != "" {
				fields = append(fields, tt.field, "k")
			}
			resp, body := r.do(tt.method, "/", content, fields...)
			if tt.want.status != 0 {
				wantAnswer(t, resp, body, tt.want)
			} else {
				wantField(t, resp.Header, fieldRetries, fmt.Sprint(tt.want.retries))
				wantField(t, resp.Header, fieldUnprocessed, "")
			}
			s.Close()
			if n := s.Report().Executed.Count(1); n != tt.executed {
				t.Errorf("executed %d times, want %d", n, tt.executed)
			}
		})
	}
}

func TestTimeoutAfterSending(t *testing.T) {
	_, up := newPeer(t, peer.Faults{Delay: time.Hour})
	r := start(t, up, "pool.response_header_timeout=20ms")
	for _, method := range []string{"GET", "POST"} {
		resp, body := r.do(method, "/", nil)
		if method == "HEAD" {
			continue
		}
		wantAnswer(t, resp, body, answer{504, false, "sent", 0})
	}
}

// TestLostUnsent closes the idle connection behind the pool's back: what comes next is executed once.
func TestLostUnsent(t *testing.T) {
	s, up := newPeer(t, peer.Faults{})
	r := start(t, up)
	for id := 1; id <= 20; id++ {
		resp, body := r.do("POST", "/", unsized("x"), peer.HeaderID, fmt.Sprint(id))
		if resp.StatusCode != 200 {
			t.Fatalf("request %d: %s, %q", id, resp.Status, body)
		}
		s.Drop(peer.Drop{Style: peer.RST})
	}
	s.Close()
	rep := s.Report()
	for id := uint64(1); id <= 20; id++ {
		if n := rep.Executed.Count(id); n != 1 {
			t.Errorf("request %d was executed %d times", id, n)
		}
	}
}

// TestRefusedAfterReading has a server that refuses a request when its body is there. What was kept of
// it goes again; what has streamed can't.
func TestRefusedAfterReading(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprint("kept ", kept), func(t *testing.T) {
			s, err := peer.StartH2(peer.H2Options{KeepBody: 100, Handler: func(c *peer.H2Conn) {
				_ = c.Settings()
				for n := 0; ; n++ {
					q, err := c.Request()
					if err != nil {
						return
					}
					if n == 0 {
						_ = c.Reset(q.Stream, 7) // REFUSED_STREAM
						continue
					}
					_ = c.Answer(q)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			flags := []string{"upstream=http://" + s.Addr(), "pool.protocols=h2c", "retry.interval=1ms"}
			if !kept {
				flags = append(flags, "replay.body=none")
			}
			r := start(t, flags...)
			resp, body := r.do("POST", "/", unsized("body"), peer.HeaderID, "1")
			executed := 0
			if kept {
				executed = 1
				if resp.StatusCode != 200 {
					t.Errorf("status %s", resp.Status)
				}
				wantField(t, resp.Header, fieldRetries, "1")
			} else {
				wantAnswer(t, resp, body, answer{503, true, "refused", 0})
			}
			s.Close()
			if n := s.Report().Executed.Count(1); n != executed {
				t.Errorf("executed %d times, want %d", n, executed)
			}
		})
	}
}
