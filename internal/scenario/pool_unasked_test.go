package scenario

import (
	"io"
	"net/http"
	"testing"

	"example.com/connwise/pool"
)

// A second answer that nobody asked for must not become the answer of the next request:
// it may be another user's.
func TestAnUnaskedAnswerIsNeverDelivered(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(c *peerConn, answer, second string)
	}{
		{"in one segment", func(c *peerConn, answer, second string) { io.WriteString(c, answer+second) }},
		{"in two writes", func(c *peerConn, answer, second string) {
			io.WriteString(c, answer)
			io.WriteString(c, second)
		}},
		{"a single byte", func(c *peerConn, answer, _ string) { io.WriteString(c, answer+"H") }},
		{"a line end", func(c *peerConn, answer, _ string) { io.WriteString(c, answer+"\r\n") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, r *rig) {
				wrote := make(chan struct{}, 1)
				p := r.peer(func(c *peerConn) {
					for q, err := c.request(); err == nil; q, err = c.request() {
						tt.write(c, answerText(q.id), answerText("another user's"))
						wrote <- struct{}{}
					}
				})
				tr := r.pool(pool.Config{})
				const rounds = 24
				for i := range rounds {
					do := fronts[i%len(fronts)].over(tr)
					do.must(t, newCall(t.Context(), []string{"GET", "POST"}[i%2], p.url, bodyKinds[i%2*3]))
					<-wrote
				}
				// Each is found by the next request, or in the moment that the pool gives it.
				if !within(restTime, func() bool { return gauges(tr) == (counts{}) }) {
					t.Errorf("connections with unsolicited data were kept: %+v", gauges(tr))
				}
				if p.received() != rounds || p.conns() != rounds {
					t.Errorf("%d requests on %d connections for %d rounds", p.received(), p.conns(), rounds)
				}
				if total := tr.Stats().Total; total.ClosedBy[pool.ReasonUnsolicited] != rounds {
					t.Errorf("closed: %v, want %d for unsolicited data", total.ClosedBy, rounds)
				}
			})
		})
	}
}

// Without a pause the second answer may cross the next request, and HTTP/1.1 has no way
// to tell then. A peer that does so is found out soon, and given time from then on.
func TestAnUnaskedAnswerThatCrossesIsRarelyDelivered(t *testing.T) {
	r := newRig(t, plain)
	p := r.peer(func(c *peerConn) {
		for q, err := c.request(); err == nil; q, err = c.request() {
			io.WriteString(c, answerText(q.id))
			io.WriteString(c, answerText("another user's"))
		}
	})
	tr := r.pool(pool.Config{})
	const rounds = 2000
	wrong := 0
	for range rounds {
		err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodGet, p.url, noBody))
		if _, ok := err.(*wrongAnswerError); ok {
			wrong++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d requests got the wrong answer", wrong, rounds)
	if wrong > rounds/100 {
		t.Errorf("%d of %d requests got the wrong answer", wrong, rounds)
	}
}

// One slip makes the pool wary of a host. It keeps reusing connections to it, after a
// moment, in which they count as idle.
func TestAHostThatSlippedOnceIsStillReused(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(func(c *peerConn) {
			if c.num > 0 {
				c.serve()
				return
			}
			if q, err := c.request(); err == nil {
				io.WriteString(c, answerText(q.id)+"surplus")
				c.drain()
			}
		})
		tr := r.pool(pool.Config{MaxConnsPerHost: 1})
		do := doer(tr.RoundTrip)
		const rounds = 20
		for i := range rounds {
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
			if g := gauges(tr); i > 0 && g != (counts{Open: 1, Idle: 1}) {
				t.Errorf("after an answer: %+v", g)
			}
		}
		if p.conns() != 2 || p.received() != rounds {
			t.Errorf("%d connections for %d requests", p.conns(), p.received())
		}
		tr.CloseIdleConnections()
		if g := gauges(tr); g != (counts{}) {
			t.Errorf("after CloseIdleConnections: %+v", g)
		}
	})
}

// A proxy tells an idle client 408 and closes. That is no answer to anything.
func TestA408OnAnIdleConnectionIsNotAnAnswer(t *testing.T) {
	const text = "HTTP/1.0 408 Request Time-out\r\nConnection: close\r\nContent-Length: 3\r\n\r\nlate"
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		closed := make(chan struct{}, 1)
		p := r.peer(func(c *peerConn) {
			q, err := c.request()
			if err != nil || c.answer(q) != nil {
				return
			}
			<-c.peer.gate
			io.WriteString(c, text)
			end.close(c)
			closed <- struct{}{}
		})
		tr := r.pool(pool.Config{})
		const rounds = 16
		for i := range rounds {
			do := fronts[i%len(fronts)].over(tr)
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, bodyKinds[i/len(fronts)]))
			p.gate <- struct{}{}
			<-closed
		}
		if p.received() != rounds || p.conns() != rounds {
			t.Errorf("%d requests on %d connections for %d rounds", p.received(), p.conns(), rounds)
		}
	})
}

// A 408 that crosses the request looks like its answer and may be returned as one. The
// request is not sent a second time.
func TestA408ThatCrossesIsReturnedOrAnError(t *testing.T) {
	eachFront(t, func(t *testing.T, r *rig, f front) {
		p := r.peer(func(c *peerConn) {
			q, err := c.request()
			if err != nil || c.answer(q) != nil {
				return
			}
			if _, err := c.br.Peek(1); err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.0 408 Request Time-out\r\nContent-Length: 0\r\n\r\n")
			c.tcp.CloseWrite()
			c.drain()
		})
		tr := r.pool(pool.Config{})
		do := f.over(tr)
		for i, kind := range bodyKinds {
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, kind))
			c := newCall(t.Context(), http.MethodPost, p.url, kind)
			resp, err := do(c.Request)
			if err != nil {
				if pe := poolError(t, err); pe.Phase.Unprocessed() || !pe.Reused {
					t.Errorf("%s: error %#v", kind, pe)
				}
			} else {
				resp.Body.Close()
				if resp.StatusCode != http.StatusRequestTimeout {
					t.Errorf("%s: status %d", kind, resp.StatusCode)
				}
			}
			if n := p.count(c.id); n != 0 {
				t.Errorf("%s: the request came %d times", kind, n)
			}
			if n := p.conns(); n != i+1 {
				t.Errorf("%s: it was sent again: %d connections after %d pairs of requests", kind, n, i+1)
			}
		}
	})
}
