package scenario

import (
	"errors"
	"net/http"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A close that crosses a request on the wire proves nothing: the peer may have read the
// request, and run it. These tests are about what is said of it and what is done.

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
	http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
}

// repeatable are the methods that a policy sends again by default after an ambiguous end.
var repeatable = map[string]bool{http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true}

// crosses answers the first request of its first connection and leaves as the second's
// first byte arrives. Further connections are served.
func crosses(l leave) script {
	return func(c *peerConn) {
		if c.num > 0 {
			c.serveWhole()
			return
		}
		if q, err := c.whole(); err == nil && c.answer(q) == nil && c.arrives() {
			l.by(c)
		}
	}
}

// wantAmbiguous checks what is said of a request that a connection took and of which
// nothing else is known. It returns the error for more.
func wantAmbiguous(t *testing.T, err error, reused bool) *pool.Error {
	t.Helper()
	e := poolError(t, err)
	if e.Phase != pool.PhaseSending && e.Phase != pool.PhaseSent || e.Phase.Unprocessed() {
		t.Errorf("the phase is %v, want sending or sent: %v", e.Phase, err)
	}
	if e.Reused != reused || e.Sent <= 0 {
		t.Errorf("reused is %v and %d bytes were sent, want %v and more than none", e.Reused, e.Sent, reused)
	}
	return e
}

func TestACloseThatCrossesARequestIsReportedAsAmbiguous(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, method := range methods {
			for _, f := range []front{bare, client, clientTimeout} {
				p := r.peer(crosses(l))
				do := f.over(r.pool(pool.Config{}))
				do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
				c := newCall(t.Context(), method, p.url, noBody)
				wantAmbiguous(t, do.send(c), true)
				if p.count(c.id) != 0 || p.conns() != 1 {
					t.Errorf("%s by %s: executed %d times, %d connections; want 0 and 1", method, f.name, p.count(c.id), p.conns())
				}
			}
		}
	})
}

func TestAfterACrossingOnlySafeMethodsAreSentAgain(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, method := range methods {
			for _, limit := range []int{0, 1} {
				p := r.peer(crosses(l))
				do := over(r.pool(pool.Config{MaxConnsPerHost: limit}), quick(retry.Default()))
				do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
				c, rep := reported(newCall(t.Context(), method, p.url, noBody))
				err := sendAny(do, c)
				want := 0
				if repeatable[method] {
					want = 1
				} else {
					wantAmbiguous(t, err, true)
				}
				if (err == nil) != (want == 1) || p.count(c.id) != want || rep.Retries != want || p.conns() != 1+want {
					t.Errorf("%s: %v; executed %d times, %d retries, %d connections, want %d, %d and %d",
						method, err, p.count(c.id), rep.Retries, p.conns(), want, want, 1+want)
				}
			}
		}
	})
}

func TestAWriteOnAReusedConnectionIsSentAgainOnlyIfTheCallerOptsIn(t *testing.T) {
	optIns := []struct {
		name string
		in   func(*call)
	}{
		{"by header", func(c *call) { c.Header.Set("Idempotency-Key", c.id) }},
		{"by call", func(c *call) { c.Request = c.WithContext(retry.WithIdempotent(c.Context())) }},
	}
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, k := range cargoes {
			for _, opt := range optIns {
				p := r.peer(crosses(l))
				do := over(r.pool(pool.Config{}), quick(retry.Default()))
				do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
				c, rep := reported(newUpload(t, t.Context(), http.MethodPost, p.url, k, "charge 10"))
				opt.in(c)
				err := do.send(c)
				want := 1
				if !k.replayable && err != nil { // the connection may also end before the body is read from
					want = 0
					if e := wantAmbiguous(t, err, true); c.body != nil && (!e.BodyTouched || c.body.reads.Load() == 0) {
						t.Errorf("%s: a body that was read %d times, touched: %v, was not sent again", k.name, c.body.reads.Load(), e.BodyTouched)
					}
				}
				if (err == nil) != (want == 1) || p.count(c.id) != want || rep.Retries != want {
					t.Errorf("%s, %s: %v; executed %d times after %d retries, want %d", k.name, opt.name, err, p.count(c.id), rep.Retries, want)
				}
			}
		}
	})
}

// charges reads a request whole, as an application does that charges for it, and leaves
// without an answer, on a connection's nth request.
func charges(nth int, l leave) script {
	return func(c *peerConn) {
		for n := 1; ; n++ {
			q, err := c.whole()
			if err != nil {
				return
			}
			if n == nth {
				l.by(c)
				return
			}
			if c.answer(q) != nil {
				return
			}
		}
	}
}

func TestARequestThatWasReadWholeAndNotAnsweredIsNotRunTwice(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, nth := range []int{1, 2} {
			for _, f := range fronts {
				for _, k := range cargoes {
					p := r.peer(charges(nth, l))
					tr := r.pool(pool.Config{})
					do := f.over(tr)
					if nth == 2 {
						do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
					}
					c := newUpload(t, t.Context(), http.MethodPost, p.url, k, "charge 10")
					e := wantAmbiguous(t, do.send(c), nth == 2)
					if p.count(c.id) != 1 || p.conns() != 1 {
						t.Errorf("%s by %s: run %d times on %d connections, want 1 and 1", k.name, f.name, p.count(c.id), p.conns())
					}
					if e.Phase != pool.PhaseSent && k.name == cargoBytes.name {
						t.Errorf("the phase is %v for a request that was read whole", e.Phase)
					}
					if err := c.body.misuse(); err != nil {
						t.Errorf("%s by %s: %v", k.name, f.name, err)
					}
					if s := tr.Stats().Total; s.Failed != 1 || s.Replaced != 0 {
						t.Errorf("%d failed and %d were replaced, want 1 and 0", s.Failed, s.Replaced)
					}
				}
			}
		}
	})
}

func TestASafeRequestThatWasNotAnsweredIsRunOnceMorePerRetry(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		p := r.peer(charges(1, l))
		do := over(r.pool(pool.Config{}), quick(retry.Default()))
		c, rep := reported(newCall(t.Context(), http.MethodGet, p.url, noBody))
		wantAmbiguous(t, do.send(c), false)
		if p.count(c.id) != 3 || rep.Retries != 2 {
			t.Errorf("run %d times with %d retries, want 3 and 2: a GET has three attempts, and no layer adds to them", p.count(c.id), rep.Retries)
		}
	})
}

// A failure on a connection's first request has nothing to do with keep-alive.
func TestAFailureOnAFreshConnectionIsNotTakenForAStaleOne(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, f := range fronts {
			p := r.peer(charges(1, l))
			tr := r.pool(pool.Config{})
			do := f.over(tr)
			c := newCall(t.Context(), http.MethodPost, p.url, replayable)
			if e := wantAmbiguous(t, do.send(c), false); e.Idle != 0 {
				t.Errorf("by %s: a fresh connection was idle for %v", f.name, e.Idle)
			}
			if s := tr.Stats().Total; s.Dials != 1 || s.Stale != 0 || s.Replaced != 0 {
				t.Errorf("by %s: %d dials, %d stale, %d replaced; want 1, 0, 0", f.name, s.Dials, s.Stale, s.Replaced)
			}
		}
	})
}

func TestWithRetriesOffEveryRequestIsSentOnce(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, method := range methods {
			for _, s := range []script{crosses(l), charges(2, l)} {
				p := r.peer(s)
				tr := r.pool(pool.Config{})
				do := over(tr, retry.Off())
				do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
				c := newCall(t.Context(), method, p.url, noBody)
				c.Header.Set("Idempotency-Key", c.id)
				wantAmbiguous(t, do.send(c), true)
				if s := tr.Stats().Total; s.Sent != 2 || p.conns() != 1 {
					t.Errorf("%s: %d requests were sent on %d connections, want 2 on 1", method, s.Sent, p.conns())
				}
			}
		}
	})
}

// A proof stays a proof with retries off: nothing is resent, but the caller can tell.
func TestWithRetriesOffTheErrorStillTellsThatNothingWasSent(t *testing.T) {
	r := newRig(t, plain)
	p := r.peer(func(*peerConn) {})
	p.ln.Close()
	for _, method := range methods {
		tr := r.pool(pool.Config{})
		e := poolError(t, over(tr, retry.Off()).send(newCall(t.Context(), method, p.url, noBody)))
		if !e.Phase.Unprocessed() || e.Phase != pool.PhaseDial || tr.Stats().Total.Dials != 1 {
			t.Errorf("%s: phase %v after %d dials", method, e.Phase, tr.Stats().Total.Dials)
		}
	}
}

// sendAny is send for methods whose answer has no body.
func sendAny(do doer, c *call) error {
	err := do.send(c)
	if w, ok := errors.AsType[*wrongAnswerError](err); ok && c.Method == http.MethodHead && w.status == http.StatusOK && w.body == "" {
		return nil
	}
	return err
}
