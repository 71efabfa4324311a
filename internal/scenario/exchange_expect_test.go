package scenario

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// "Expect: 100-continue" asks for consent before the body goes out. Peers give it late,
// twice or never, and say no in several ways; none may move a message's borders.

// expecting makes an upload that asks for consent.
func expecting(t *testing.T, method, url string, k cargo, content string) *call {
	c := newUpload(t, t.Context(), method, url, k, content)
	c.Header.Set("Expect", "100-continue")
	return c
}

// consenting is a Config under which a body waits that long for consent; zero: it doesn't.
func consenting(d time.Duration, limit int) pool.Config {
	return pool.Config{Base: &http.Transport{ExpectContinueTimeout: d}, MaxConnsPerHost: limit}
}

func TestAFinalAnswerWithoutConsentDoesNotMixTheBodyWithTheNextRequest(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, wait := range []time.Duration{0, patience} {
			for _, k := range cargoes {
				for _, content := range contents {
					withoutConsent(t, r, wait, k, content.text, 401, "", 0)
					withoutConsent(t, r, wait, k, content.text, 200, "", 1)
					withoutConsent(t, r, wait, k, content.text, 413, "Connection: close\r\n", 1)
				}
			}
		}
	})
}

func withoutConsent(t *testing.T, r *rig, wait time.Duration, k cargo, content string, status int, fields string, limit int) {
	t.Helper()
	name := fmt.Sprintf("%d, %q, %s of %d bytes, waiting %v", status, fields, k.name, len(content), wait)
	var wrong atomic.Bool
	p := r.peer(func(c *peerConn) {
		req, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		if req.Method != http.MethodPost {
			if q, err := c.rest(req); err == nil {
				c.answer(q)
				c.serveWhole()
			}
			return
		}
		c.say("HTTP/1.1 %d No\r\n%sContent-Length: 2\r\n\r\nno", status, fields)
		if fields != "" {
			c.drain() // who says close, closes; what comes before that doesn't matter
			return
		}
		q, err := c.rest(req) // strictly: as long as was announced
		if err != nil {
			return
		}
		wrong.Store(q.body != content)
		c.serveWhole()
	})
	tr := r.pool(consenting(wait, limit))
	c := expecting(t, http.MethodPost, p.url, k, content)
	resp, err := tr.RoundTrip(c.Request)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != status || string(b) != "no" || err != nil {
		t.Errorf("%s: got %d, %q, %v", name, resp.StatusCode, b, err)
	}
	doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
	if wrong.Load() {
		t.Errorf("%s: the peer found something else in the body", name)
	}
	// (It may be closed while a Read is under way, when the answer ends the upload.)
	if c.body != nil && !within(patience, func() bool { return c.body.closes.Load() == 1 }) {
		t.Errorf("%s: the body was closed %d times", name, c.body.closes.Load())
	}
	tr.Close()
}

func TestABodyThatGetsNoConsentGoesOutAfterTheWait(t *testing.T) {
	const wait = 200 * time.Millisecond
	eachMode(t, func(t *testing.T, r *rig) {
		for _, k := range []cargo{cargoBytes, cargoBare, cargoOnce} {
			took := make(chan time.Duration, 1)
			p := r.peer(func(c *peerConn) {
				req, err := http.ReadRequest(c.br)
				if err != nil {
					return
				}
				start := time.Now()
				if !c.arrives() {
					return
				}
				took <- time.Since(start)
				if q, err := c.rest(req); err == nil {
					c.answer(q)
					c.drain()
				}
			})
			do := over(r.pool(consenting(wait, 0)), retry.Off())
			do.must(t, expecting(t, http.MethodPost, p.url, k, "charge 10"))
			// The peer's clock starts when it has read the head: later than the client's.
			if d := <-took; d < wait/2 || d > patience/2 {
				t.Errorf("%s: the body came after %v, want about %v", k.name, d, wait)
			}
		}
	})
}

func TestConsentIsTakenOnceAndWhatIsSurplusIsPassedBy(t *testing.T) {
	const consent = "HTTP/1.1 100 Continue\r\n\r\n"
	eachMode(t, func(t *testing.T, r *rig) {
		for _, tt := range []struct {
			name                  string
			before, after, behind string // the body, and the answer
			conns                 int    // with the next request
		}{
			{"once", consent, "", "", 1},
			{"twice", consent + consent, "", "", 1},
			{"before and after the body", consent, consent, "", 1},
			{"among other interim answers", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + consent, "HTTP/1.1 102 Processing\r\n\r\n", "", 1},
			{"behind the answer", consent, "", consent, 2},
			{"never, but behind the answer", "", "", consent, 2},
		} {
			for _, k := range cargoes {
				p := r.peer(func(c *peerConn) {
					if c.num > 0 {
						c.serveWhole()
						return
					}
					req, err := http.ReadRequest(c.br)
					if err != nil {
						return
					}
					c.say("%s", tt.before)
					q, err := c.rest(req)
					if err != nil {
						return
					}
					c.say("%s%s%s", tt.after, answerText(q.id), tt.behind)
					c.serveWhole()
				})
				wait := patience
				if tt.before == "" {
					wait = time.Millisecond
				}
				tr := r.pool(consenting(wait, 0))
				do := doer(tr.RoundTrip)
				c := expecting(t, http.MethodPost, p.url, k, "charge 10")
				do.must(t, c)
				do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
				if p.conns() != tt.conns || p.count(c.id) != 1 {
					t.Errorf("%s, %s: %d connections, executed %d times; want %d and 1", tt.name, k.name, p.conns(), p.count(c.id), tt.conns)
				}
			}
		}
	})
}

// 417 means: ask again without Expect. That is for the caller to decide.
func TestARefusedExpectationIsReturnedToTheCaller(t *testing.T) {
	eachFront(t, func(t *testing.T, r *rig, f front) {
		for _, k := range cargoes {
			p := r.peer(func(c *peerConn) {
				for {
					req, err := http.ReadRequest(c.br)
					if err != nil {
						return
					}
					if req.Header.Get("Expect") == "" {
						q, err := c.rest(req)
						if err != nil || c.answer(q) != nil {
							return
						}
						continue
					}
					c.say("HTTP/1.1 417 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
					c.drain()
					return
				}
			})
			do := f.over(r.pool(consenting(patience, 0)))
			c := expecting(t, http.MethodPost, p.url, k, "charge 10")
			resp, err := do(c.Request)
			if err != nil {
				t.Fatalf("%s: %v", k.name, err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusExpectationFailed || p.conns() != 1 || p.received() != 0 {
				t.Errorf("%s: got %d, %d connections, %d requests executed", k.name, resp.StatusCode, p.conns(), p.received())
			}
			if c.body != nil && c.body.reads.Load() != 0 {
				t.Errorf("%s: a body that the peer didn't want was read %d times", k.name, c.body.reads.Load())
			}
			do.must(t, newUpload(t, t.Context(), http.MethodPost, p.url, k, "charge 10"))
		}
	})
}

// On a stale connection the header is lost, but not the body, if the caller keeps it: it can be
// sent again by who knows that a header twice does no harm.
func TestABodyThatAwaitsConsentIsNotLostWithItsConnection(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, k := range []cargo{cargoSized, cargoOnce} {
			var in inbox
			p := r.peer(func(c *peerConn) {
				if c.num == 0 {
					crosses(l)(c)
					return
				}
				for {
					req, err := http.ReadRequest(c.br)
					if err != nil {
						return
					}
					c.say("HTTP/1.1 100 Continue\r\n\r\n")
					q, err := c.rest(req)
					if err != nil {
						return
					}
					in.put(q)
					c.answer(q)
				}
			})
			tr := r.pool(consenting(patience, 0))
			do := over(tr, quick(retry.Default()))
			warm(t, do, p.url, true)
			c := expecting(t, http.MethodPost, p.url, k, "charge 10")
			body := c.body
			e := wantAmbiguous(t, do.send(c), true)
			if e.BodyTouched || body.reads.Load() != 0 || body.bytes.Load() != 0 {
				t.Errorf("%s: the body was read %d times before consent; the error says touched: %v", k.name, body.reads.Load(), e.BodyTouched)
			}
			if err := body.misuse(); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
			if p.conns() != 1 {
				t.Errorf("%s: %d connections: nobody had said that it may be sent again", k.name, p.conns())
			}
			again := expecting(t, http.MethodPost, p.url, k, "")
			again.Body, again.ContentLength, again.body = io.NopCloser(body.r), c.ContentLength, nil
			do.must(t, again)
			if all := in.all(); len(all) != 1 || all[0].body != "charge 10" {
				t.Errorf("%s: %d arrived, want one that is whole", k.name, len(all))
			}
		}
	})
}

func TestACancelledRequestThatAwaitsConsentLeavesItsBodyUnread(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, k := range []cargo{cargoSized, cargoOnce, cargoBytes} {
			ctx, cancel := context.WithCancel(t.Context())
			p := r.peer(func(c *peerConn) {
				if _, err := http.ReadRequest(c.br); err == nil {
					cancel()
					c.drain()
				}
			})
			tr := r.pool(consenting(patience, 0))
			c := expecting(t, http.MethodPost, p.url, k, "charge 10")
			c.Request = c.WithContext(ctx)
			e := wantAmbiguous(t, doer(tr.RoundTrip).send(c), false)
			if e.Phase != pool.PhaseSending || e.BodyTouched || c.body != nil && c.body.reads.Load() != 0 {
				t.Errorf("%s: phase %v, touched %v", k.name, e.Phase, e.BodyTouched)
			}
		}
	})
}
