package scenario

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// An http.Client that follows a redirect makes a request for each hop, and each has its retries.

// Both hops are lost once. The context's report has all, the
// answer's the last hop's.
func TestEachHopHasItsRetries(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			p := r.peer(func(c *peerConn) {
				for {
					q, err := c.whole()
					if err != nil {
						return
					}
					if c.num%2 == 0 { // the first attempt of each hop
						l.by(c)
						return
					}
					if c.num == 1 && q.URL.Path == "/" {
						c.say("HTTP/1.1 307 Over There\r\nLocation: /there\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
						return
					}
					c.answer(q)
				}
			})
			c, rep := reported(newCall(t.Context(), method, p.url+"/", replayable))
			c.Header.Set("Idempotency-Key", c.id)
			do := tops["Client"](&retry.Transport{Base: r.pool(pool.Config{}), Policy: quick(retry.Default())})
			resp, err := do(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(b) != c.id || err != nil || resp.Request.URL.Path != "/there" {
				t.Errorf("%s: got %q of %s, %v", method, b, resp.Request.URL, err)
			}
			if rep.Retries != 2 || len(rep.Attempts) != 4 || p.count(c.id) != 4 || p.conns() != 4 {
				t.Errorf("%s: executed %d times on %d connections: %+v", method, p.count(c.id), p.conns(), rep)
			}
			if last := retry.ReportOf(resp); last == nil || last.Retries != 1 || len(last.Attempts) != 2 {
				t.Errorf("%s: the last hop's report is %+v", method, last)
			}
		}
	})
}

// GetBody fails where the request was never sent: that is the error, and nothing is sent.
func TestAGetBodyThatFailsAfterAProofSendsNothing(t *testing.T) {
	errRewind := errors.New("the upload is gone")
	eachMode(t, func(t *testing.T, r *rig) {
		for name, top := range tops {
			var in inbox
			w := cable{later: in.records}
			p := w.resetBefore(r, 1)
			c := newUpload(t, t.Context(), http.MethodPost, p.url, cargoBytes, "charge 10")
			c.GetBody = func() (io.ReadCloser, error) { return nil, errRewind }
			err := top(&retry.Transport{Base: w.Transport, Policy: quick(retry.Default())}).send(c)
			ce, ok := errors.AsType[*pool.CallerError](err)
			if !errors.Is(err, errRewind) || !ok || ce.Source != pool.CallerBody {
				t.Errorf("%s: GetBody's error isn't told as the caller's: %v", name, err)
			}
			if u, ok := errors.AsType[provable](err); !ok || !u.Unprocessed() {
				t.Errorf("%s: it isn't told that nothing was processed: %v", name, err)
			}
			if len(in.all()) != 0 || p.conns() != 1 {
				t.Errorf("%s: %d requests, %d connections", name, len(in.all()), p.conns())
			}
		}
	})
}
