package scenario

import (
	"net/http"
	"syscall"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A body that can be read once goes with the next attempt as long as nobody has read from it. It
// is never sent in part, and never twice.

// onces are the bodies that can't be had again, and one whose bytes are in memory.
var onces = []cargo{cargoSized, cargoOnce, cargoBare}

// wantWhole checks a call whose body has to have arrived once, whole.
func wantWhole(t *testing.T, name string, in *inbox, c *call, text string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	in.wantOne(t, name, c, text, c.ContentLength)
	if err := c.body.misuse(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Nothing was sent, whether there was no connection or none that took a byte.
func TestAnUntouchedBodyIsSentAfterAnyProof(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, k := range onces {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				untouchedOnce(t, r, k, method, "charge 10", "RoundTrip")
			}
			for name := range tops {
				untouchedOnce(t, r, k, http.MethodPost, mibBody, name)
			}
		}
	})
}

func untouchedOnce(t *testing.T, r *rig, k cargo, method, text, top string) {
	t.Helper()
	var in inbox
	w := cable{later: in.records}
	p := w.resetBefore(r, 1)
	c, rep := reported(newUpload(t, t.Context(), method, p.url, k, text))
	err := tops[top](&retry.Transport{Base: w.Transport, Policy: quick(retry.Default())}).send(c)
	wantWhole(t, label(k.name, method, top), &in, c, text, err)
	if rep.Retries != 1 || len(rep.Attempts) != 2 || rep.Attempts[0].Proof != retry.ProofNoByte {
		t.Errorf("%s, %s by %s: %+v", k.name, method, top, rep)
	}
}

// Under the policy that leaves such bodies alone there is one attempt, and the error still says
// that nothing was sent.
func TestAnUntouchedBodyIsLeftAloneByPolicy(t *testing.T) {
	policy := quick(retry.Default())
	policy.LeaveOneShot = true
	eachMode(t, func(t *testing.T, r *rig) {
		for _, p := range []retry.Policy{policy, quick(retry.NeverTimeouts()), retry.Off()} {
			for _, k := range onces[:2] {
				var dials int
				tr := r.pool(pool.Config{Base: dialScript(func(int) error { dials++; return syscall.EHOSTUNREACH })})
				c := newUpload(t, t.Context(), http.MethodPost, "http://"+dead(t), k, "charge 10")
				e := poolError(t, over(tr, p).send(c))
				if dials != 1 || !e.Unprocessed() || e.BodyTouched || c.body.reads.Load() != 0 {
					t.Errorf("%s: %d dials, %d reads: %+v", k.name, dials, c.body.reads.Load(), e)
				}
				if err := c.body.misuse(); err != nil {
					t.Errorf("%s: %v", k.name, err)
				}
			}
		}
	})
}

// The peer takes the head and is gone before it has said that it wants the body. The head may
// have been acted on, so by default that is the end. Who knows that two heads do no harm, by
// policy or for the one call, has the whole body on the second connection.
func TestABodyThatAwaitsConsentGoesWithTheNextAttempt(t *testing.T) {
	headOnly := quick(retry.Default())
	headOnly.ResendHeadOnly = true
	for _, tt := range []struct {
		name   string
		policy retry.Policy
		optIn  func(*call)
		again  bool
	}{
		{"by default", quick(retry.Default()), func(*call) {}, false},
		{"by the policy for heads", headOnly, func(*call) {}, true},
		{"by key", quick(retry.Default()), func(c *call) { c.Header.Set("Idempotency-Key", c.id) }, true},
		{"by call", quick(retry.Default()), func(c *call) { c.Request = c.WithContext(retry.WithIdempotent(c.Context())) }, true},
		{"by the call's own policy", retry.Off(), func(c *call) { c.Request = c.WithContext(retry.WithPolicy(c.Context(), headOnly)) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachLeave(t, func(t *testing.T, r *rig, l leave) {
				for _, k := range onces {
					for _, reused := range []bool{false, true} {
						headIsLost(t, r, l, k, reused, tt.policy, tt.optIn, tt.again)
					}
				}
			})
		})
	}
}

func headIsLost(t *testing.T, r *rig, l leave, k cargo, reused bool, policy retry.Policy, optIn func(*call), again bool) {
	t.Helper()
	var in inbox
	p := r.peer(func(c *peerConn) {
		if c.num > 0 {
			in.consents(c)
		} else if !reused || c.served() {
			if _, err := http.ReadRequest(c.br); err == nil {
				l.by(c)
			}
		}
	})
	do := over(r.pool(consenting(patience, 0)), policy)
	warm(t, do, p.url, reused)
	c := expecting(t, http.MethodPost, p.url, k, "charge 10")
	optIn(c)
	c, rep := reported(c)
	body := c.body // for what the call counts
	err := do.send(c)
	name := label(k.name, "reused:", reused)
	if again {
		wantWhole(t, name, &in, c, "charge 10", err)
		if rep.Retries != 1 || p.conns() != 2 {
			t.Errorf("%s: %d retries, %d connections", name, rep.Retries, p.conns())
		}
		return
	}
	e := wantAmbiguous(t, err, reused)
	if !e.HeadOnly || e.BodyTouched || body != nil && body.reads.Load() != 0 || len(in.all()) != 0 || p.conns() != 1 {
		t.Errorf("%s: %+v; %d arrived on %d connections", name, e, len(in.all()), p.conns())
	}
	if err := c.body.misuse(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// served answers a request.
func (c *peerConn) served() bool {
	q, err := c.whole()
	return err == nil && c.answer(q) == nil
}

// consents serves requests, and asks for their bodies.
func (in *inbox) consents(c *peerConn) {
	for {
		req, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		if req.Header.Get("Expect") != "" {
			c.say("HTTP/1.1 100 Continue\r\n\r\n")
		}
		q, err := c.rest(req)
		if err != nil {
			return
		}
		in.put(q)
		c.answer(q)
	}
}

// Once the body was read from, a loss is the end even where the call may run twice, and even
// where it is proven that it hasn't run. The caller is told so, at once.
func TestATouchedBodyIsNeverSentAgain(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, k := range onces {
			p := r.peer(charges(1, l))
			c := newUpload(t, t.Context(), http.MethodPost, p.url, k, mibBody)
			c.Header.Set("Idempotency-Key", c.id)
			e := wantAmbiguous(t, over(r.pool(pool.Config{}), retry.Default()).send(c), false)
			if p.count(c.id) != 1 || p.conns() != 1 || c.body != nil && !e.BodyTouched {
				t.Errorf("%s: executed %d times on %d connections: %+v", k.name, p.count(c.id), p.conns(), e)
			}
		}
	})
}
