package peer

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestServesAndRecords(t *testing.T) {
	run(t, Faults{BodySize: 3000}, func(t *testing.T, s *Server, a *Authority) {
		first, second := dial(t, s.Addr(), a), dial(t, s.Addr(), a)
		if resp := first.do(1); resp.ContentLength != 3000 {
			t.Errorf("answer of %d bytes, want 3000", resp.ContentLength)
		}
		second.do(2)
		first.do(2)
		s.Close()
		r := s.Report()
		wantExecuted(t, r, 1, 2, 0)
		if r.Requests != 3 || r.Uncounted != 0 || r.Accepted != 2 {
			t.Errorf("report %+v, want 3 requests over 2 connections", r)
		}
		if n := r.Conns[0] + r.Conns[1]; n != 3 {
			t.Errorf("connections carried %v, want 3 in all", r.Conns)
		}
	})
}

func TestConnsAreInOrderOfAcceptance(t *testing.T) {
	run(t, Faults{}, func(t *testing.T, s *Server, a *Authority) {
		for n := range 3 {
			c := dial(t, s.Addr(), a)
			for range n + 1 {
				c.do(1)
			}
		}
		if r := s.Report(); !reflect.DeepEqual(r.Conns, []int{1, 2, 3}) {
			t.Errorf("connections carried %v, want [1 2 3]", r.Conns)
		}
	})
}

// TestIncompleteRequestIsNotExecuted pins what the oracle is for: a request that
// the application didn't get whole doesn't count.
func TestIncompleteRequestIsNotExecuted(t *testing.T) {
	run(t, Faults{}, func(t *testing.T, s *Server, a *Authority) {
		c := dial(t, s.Addr(), a)
		c.do(1)
		if _, err := c.rw.Write([]byte("POST / HTTP/1.1\r\nX-Request-Id: 2\r\nContent-Length: 5\r\n\r\nhell")); err != nil {
			t.Fatal(err)
		}
		inState(t, s, stateBusy, 1)
		_ = c.raw.Close()
		s.Close()
		wantExecuted(t, s.Report(), 1, 0)
	})
}

func TestIdleTimeoutIsExact(t *testing.T) {
	const timeout = 150 * time.Millisecond
	for _, style := range []Style{FIN, BareFIN, RST} {
		t.Run(string(style), func(t *testing.T) {
			run(t, Faults{IdleTimeout: timeout, Style: style}, func(t *testing.T, s *Server, a *Authority) {
				c := dial(t, s.Addr(), a)
				c.do(1)
				c.do(2) // the timeout runs from the last answer
				since := time.Now()
				c.ends(style)
				// The answer's last byte was written shortly before it was read here.
				if d := time.Since(since); d < timeout-20*time.Millisecond || d > timeout+time.Second {
					t.Errorf("closed %v after the answer, want %v", d, timeout)
				}
			})
		})
	}
}

// TestIdleTimeoutSparesFreshConnections compares two connections that were opened
// one after the other: the idle timeout ends the used one only.
func TestIdleTimeoutSparesFreshConnections(t *testing.T) {
	run(t, Faults{IdleTimeout: 50 * time.Millisecond}, func(t *testing.T, s *Server, a *Authority) {
		fresh, used := dial(t, s.Addr(), a), dial(t, s.Addr(), a)
		used.do(1)
		used.ends(FIN)
		fresh.do(2)
	})
}

func TestMaxRequests(t *testing.T) {
	for _, announce := range []bool{false, true} {
		t.Run(fmt.Sprint("announce=", announce), func(t *testing.T) {
			run(t, Faults{MaxRequests: 2, Announce: announce}, func(t *testing.T, s *Server, a *Authority) {
				c := dial(t, s.Addr(), a)
				if resp := c.do(1); resp.Close {
					t.Error("the first answer says Connection: close")
				}
				if resp := c.do(2); resp.Close != announce {
					t.Errorf("the last answer says Connection: close: %v, want %v", resp.Close, announce)
				}
				c.ends(FIN)
			})
		})
	}
}

func TestDelay(t *testing.T) {
	run(t, Faults{Delay: 60 * time.Millisecond}, func(t *testing.T, s *Server, a *Authority) {
		c := dial(t, s.Addr(), a)
		start := time.Now()
		c.do(1)
		if d := time.Since(start); d < 60*time.Millisecond {
			t.Errorf("answered after %v, want 60ms at least", d)
		}
	})
}

// TestCloseEndsDelays checks that Close doesn't wait for answers, and that what
// was executed before counts.
func TestCloseEndsDelays(t *testing.T) {
	run(t, Faults{Delay: time.Hour}, func(t *testing.T, s *Server, a *Authority) {
		c := dial(t, s.Addr(), a)
		c.send(1)
		until(t, func() bool { return s.Report().Requests == 1 })
		s.Close()
		if _, err := c.tryReceive(); err == nil {
			t.Error("an answer came after Close")
		}
		wantExecuted(t, s.Report(), 1)
	})
}

// TestServesNetHTTP checks the framing against a client that others wrote:
// chunked bodies, trailers, HEAD, Expect and Connection: close.
func TestServesNetHTTP(t *testing.T) {
	run(t, Faults{BodySize: 10}, func(t *testing.T, s *Server, a *Authority) {
		tr := &http.Transport{ExpectContinueTimeout: patience}
		url := "http://" + s.Addr()
		if a != nil {
			tr.TLSClientConfig = dialConfig(a)
			url = "https://" + s.Addr()
		}
		defer tr.CloseIdleConnections()
		id := 0
		do := func(method, body string, edit func(*http.Request)) {
			t.Helper()
			id++
			req, err := http.NewRequest(method, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(HeaderID, fmt.Sprint(id))
			edit(req)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatalf("%s %d: %v", method, id, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Errorf("%s %d: %v", method, id, err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != 200 || resp.Header.Get(HeaderID) != fmt.Sprint(id) {
				t.Errorf("%s %d: %s of request %s", method, id, resp.Status, resp.Header.Get(HeaderID))
			}
		}
		do("GET", "", func(*http.Request) {})
		do("HEAD", "", func(*http.Request) {})
		do("POST", strings.Repeat("z", 100_000), func(r *http.Request) { r.ContentLength = -1 })
		do("POST", "with trailer", func(r *http.Request) {
			r.ContentLength = -1
			r.Trailer = http.Header{"X-Sum": {"1"}}
		})
		do("PUT", strings.Repeat("z", 100_000), func(r *http.Request) { r.Header.Set("Expect", "100-continue") })
		do("DELETE", "", func(r *http.Request) { r.Close = true })
		s.Close()
		r := s.Report()
		wantExecuted(t, r, 1, 1, 1, 1, 1, 1)
		if r.Accepted != 1 {
			t.Errorf("%d connections, want 1: the framing went wrong", r.Accepted)
		}
	})
}
