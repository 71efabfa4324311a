package scenario

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"example.com/connwise/pool"
)

// An answer is an answer, over HTTP/2 too: what a gateway says of its backend isn't sent again.
func TestAnH2GatewaysErrorIsAnAnswer(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, status := range []int{500, 502, 503, 504, 408, 425, 429} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				p, asks := r.h2driven()
				c, rep := reported(newPatient(t, method, p.url, replayable))
				done := make(chan error, 1)
				var resp *http.Response
				go func() {
					var err error
					resp, err = retrying.over(r.h2pool(pool.Config{}))(c.Request)
					done <- err
				}()
				a := asks.next(t)
				a.Execute(a.q)
				_ = a.Headers(a.q.Stream, false, ":status", strconv.Itoa(status), "retry-after", "0", "content-length", "4")
				_ = a.Data(a.q.Stream, true, []byte("late"))
				if err := asks.endOf(t, method, done); err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != status || string(b) != "late" || err != nil || rep.Retries != 0 || p.count(c.id) != 1 {
					t.Errorf("%s: got %d, %q, %v; %d retries, executed %d times", method, resp.StatusCode, b, err, rep.Retries, p.count(c.id))
				}
			}
		}
	})
}

// A policy may retry answers. What is discarded gives its stream back, and the connection is used
// for all, even where such an answer has no end.
func TestADiscardedH2AnswerCostsItsStreamAlone(t *testing.T) {
	page := []byte(strings.Repeat("busy", 1<<10))
	eachH2(t, func(t *testing.T, r *rig) {
		for _, tt := range []struct {
			name string
			rest func(a ask)
		}{
			{"with an end", func(a ask) { _ = a.Data(a.q.Stream, true, page) }},
			{"that stands still", func(a ask) { _ = a.Data(a.q.Stream, false, page) }},
			{"that is long", func(a ask) { // as long as the windows allow
				for range 12 {
					_ = a.Data(a.q.Stream, false, page)
				}
			}},
		} {
			p, asks := r.h2driven()
			tr := r.h2pool(pool.Config{})
			c, rep := reported(newPatient(t, http.MethodGet, p.url, noBody))
			done := over(tr, busy).start(c)
			for range 2 {
				a := asks.nextOf(t, done)
				a.Execute(a.q)
				_ = a.Headers(a.q.Stream, false, ":status", "503", "retry-after", "0")
				tt.rest(a)
			}
			asks.nextOf(t, done).answer(t)
			all(t, done)
			if p.conns() != 1 || rep.Retries != 2 || p.count(c.id) != 3 {
				t.Errorf("%s: %d connections, %d retries, executed %d times; want 1, 2, 3", tt.name, p.conns(), rep.Retries, p.count(c.id))
			}
			if !within(patience, func() bool { g := gauges(tr); return g.InUse == 0 && g.Open == 1 }) { // a reset may be on its way
				t.Errorf("%s: the gauges are %+v", tt.name, gauges(tr))
			}
		}
	})
}
