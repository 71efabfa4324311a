package scenario

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A policy may retry answers; then what it discards must not leak. And where it doesn't,
// an answer is an answer, whatever its status.

var busy = quick(retry.Policy{RetryStatuses: []int{http.StatusServiceUnavailable}})

// sheds answers its first n requests with wire, and serves the others.
func sheds(n int, wire string) script {
	return func(c *peerConn) {
		for {
			q, err := c.whole()
			if err != nil {
				return
			}
			if c.peer.received() > n {
				c.answer(q)
			} else {
				c.say("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\n%s", wire)
			}
		}
	}
}

func TestADiscardedAnswerGivesItsConnectionToTheNextAttempt(t *testing.T) {
	page := strings.Repeat("busy", 1<<10)
	chunked := "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(page), page) + "0\r\n\r\n"
	eachMode(t, func(t *testing.T, r *rig) {
		for _, wire := range []string{
			"Content-Length: 0\r\n\r\n",
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(page), page),
			chunked,
		} {
			for _, limit := range []int{0, 1} {
				p := r.peer(sheds(2, wire))
				tr := r.pool(pool.Config{MaxConnsPerHost: limit})
				do := over(tr, busy)
				c, rep := reported(newCall(t.Context(), http.MethodGet, p.url, noBody))
				do.must(t, c)
				if p.conns() != 1 || p.count(c.id) != 3 || rep.Retries != 2 {
					t.Errorf("%d connections, %d requests, %d retries; want 1, 3, 2", p.conns(), p.count(c.id), rep.Retries)
				}
				if g := gauges(tr); g != (counts{Open: 1, Idle: 1}) {
					t.Errorf("the gauges are %+v", g)
				}
			}
		}
	})
}

// The last attempt's answer is the caller's, unread and open.
func TestTheLastAnswerIsTheCallers(t *testing.T) {
	page := strings.Repeat("busy", 1<<10)
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(sheds(100, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(page), page)))
		tr := r.pool(pool.Config{})
		resp, err := over(tr, busy)(newCall(t.Context(), http.MethodGet, p.url, noBody).Request)
		if err != nil {
			t.Fatal(err)
		}
		if g := gauges(tr); g.InUse != 1 || g.Open != 1 {
			t.Errorf("before the answer was read the gauges are %+v", g)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || string(b) != page || err != nil {
			t.Errorf("got %d with %d bytes, %v", resp.StatusCode, len(b), err)
		}
		if p.received() != 3 || p.conns() != 1 {
			t.Errorf("%d requests on %d connections, want 3 on 1", p.received(), p.conns())
		}
	})
}

// A discarded answer without an end costs its connection, some milliseconds, and no more.
func TestADiscardedAnswerWithoutEndCostsOneConnection(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, tt := range []struct {
			name string
			play func(*peerConn)
		}{
			{"a stream without end", func(c *peerConn) {
				c.say("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nTransfer-Encoding: chunked\r\n\r\n")
				for {
					if _, err := io.WriteString(c, "4000\r\n"+strings.Repeat("x", 0x4000)+"\r\n"); err != nil {
						return
					}
				}
			}},
			{"a stream that stands still", func(c *peerConn) {
				c.say("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
				c.drain()
			}},
			{"a large one of known length", func(c *peerConn) {
				c.say("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 1000000000\r\n\r\n")
				io.WriteString(c, mibBody)
				c.drain()
			}},
			{"one of known length that stands still", func(c *peerConn) {
				c.say("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 10\r\n\r\n")
				c.drain()
			}},
		} {
			for _, limit := range []int{0, 1} {
				p := r.peer(func(c *peerConn) {
					if c.num > 0 {
						c.serveWhole()
					} else if _, err := c.whole(); err == nil {
						tt.play(c)
					}
				})
				tr := r.pool(pool.Config{MaxConnsPerHost: limit})
				start := time.Now()
				c := newCall(t.Context(), http.MethodGet, p.url, noBody)
				over(tr, busy).must(t, c)
				if p.conns() != 2 || p.count(c.id) != 2 {
					t.Errorf("%s: %d connections and %d requests, want 2 and 2", tt.name, p.conns(), p.count(c.id))
				}
				if d := time.Since(start); d > patience/2 {
					t.Errorf("%s: it took %v", tt.name, d)
				}
				// The discarded connection may be counted for a moment after its close.
				if !within(patience, func() bool { return gauges(tr) == counts{Open: 1, Idle: 1} }) {
					t.Errorf("%s: the gauges are %+v", tt.name, gauges(tr))
				}
			}
		}
	})
}

// A gateway that gives up after its own time says so with a status. The service behind it
// may well have run the request.
func TestAGatewaysErrorIsAnAnswerAndIsNeverSentAgain(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, status := range []int{500, 502, 503, 504, 408, 429} {
			for _, name := range retry.Names() {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					for _, after := range []string{"", "Retry-After: 0\r\n"} {
						policy, _ := retry.Named(name)
						if after != "" && name == "safe-only" && status == 429 && method == http.MethodGet {
							continue // that is what it's there for
						}
						gatewayAnswers(t, r, status, method, after, policy)
					}
				}
			}
		}
	})
}

func gatewayAnswers(t *testing.T, r *rig, status int, method, after string, policy retry.Policy) {
	t.Helper()
	p := r.peer(func(c *peerConn) {
		for _, err := c.whole(); err == nil; _, err = c.whole() {
			c.say("HTTP/1.1 %d No\r\n%sContent-Length: 4\r\n\r\nlate", status, after)
		}
	})
	c, rep := reported(newCall(t.Context(), method, p.url, replayable))
	c.Header.Set("Idempotency-Key", c.id)
	tr := r.pool(pool.Config{})
	resp, err := over(tr, quick(policy))(c.Request)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != status || string(b) != "late" || err != nil {
		t.Errorf("%s: got %d, %q, %v; want %d", method, resp.StatusCode, b, err, status)
	}
	if p.count(c.id) != 1 || rep.Retries != 0 || tr.Stats().Total.Failed != 0 {
		t.Errorf("%s, %d: run %d times, %d retries, %d failures; want 1, 0, 0", method, status, p.count(c.id), rep.Retries, tr.Stats().Total.Failed)
	}
}
