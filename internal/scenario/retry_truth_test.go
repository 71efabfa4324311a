package scenario

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// The last attempt's error says nothing of those before it. What a caller is told of a call has
// to be true of all of them.

// A provable says whether nothing of a call was processed.
type provable interface {
	error
	Unprocessed() bool
}

// wantTruth checks a failed call's error: the last attempt's is found in it, each attempt is
// told, and unprocessed is what it says of all.
func wantTruth(t *testing.T, name string, err error, unprocessed bool, phases ...pool.Phase) *retry.Error {
	t.Helper()
	u, ok := errors.AsType[provable](err)
	if !ok || u.Unprocessed() != unprocessed {
		t.Errorf("%s: unprocessed: %v (known: %v), want %v: %v", name, ok && u.Unprocessed(), ok, unprocessed, err)
	}
	if e := poolError(t, err); e.Phase != phases[len(phases)-1] {
		t.Errorf("%s: the phase is %v, want the last attempt's, %v", name, e.Phase, phases[len(phases)-1])
	}
	e, ok := errors.AsType[*retry.Error](err)
	if !ok || len(e.Report.Attempts) != len(phases) || e.Report.Retries != len(phases)-1 || len(e.Report.Errors) != len(phases)-1 {
		t.Errorf("%s: no *retry.Error of %d attempts: %#v (%v)", name, len(phases), e, err)
		return &retry.Error{}
	}
	for i, a := range e.Report.Attempts {
		if a.Phase != phases[i] || a.Evidence.Unprocessed() != phases[i].Unprocessed() || a.Evidence.Unprocessed() != (a.Proof != retry.ProofNone) {
			t.Errorf("%s: attempt %d is said to be %v, %v, %q; want %v", name, i, a.Phase, a.Evidence, a.Proof, phases[i])
		}
		if i < e.Report.Retries && e.Report.Errors[i] != a.Err || i == e.Report.Retries && !errors.Is(err, a.Err) {
			t.Errorf("%s: attempt %d: %v isn't the error that is reported", name, i, a.Err)
		}
	}
	return e
}

// tops are what people put on top of a retrying transport.
var tops = map[string]func(http.RoundTripper) doer{
	"RoundTrip":           func(rt http.RoundTripper) doer { return rt.RoundTrip },
	"Client":              func(rt http.RoundTripper) doer { return (&http.Client{Transport: rt}).Do },
	"Client with Timeout": func(rt http.RoundTripper) doer { return (&http.Client{Transport: rt, Timeout: patience}).Do },
}

var topNames = slices.Sorted(maps.Keys(tops))

// runsAndIsGone has a request whole, and is gone then: it leaves, and listens no more.
func runsAndIsGone(l leave) script {
	return func(c *peerConn) {
		if _, err := c.whole(); err == nil {
			c.peer.ln.Close()
			l.by(c)
		}
	}
}

// A GET that ran, was sent again, and met a refused dial has run.
func TestARequestThatRanIsntUnprocessedByALaterDial(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for name, top := range tops {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut} {
				p := r.peer(runsAndIsGone(l))
				c := newCall(t.Context(), method, p.url, replayable)
				if method == http.MethodPut {
					c.Header.Set("Idempotency-Key", c.id)
				}
				err := sendAny(top(&retry.Transport{Base: r.pool(pool.Config{}), Policy: quick(retry.Default())}), c)
				e := wantTruth(t, name+" "+method, err, false, pool.PhaseSent, pool.PhaseDial, pool.PhaseDial)
				if !errors.Is(err, syscall.ECONNREFUSED) || p.count(c.id) != 1 {
					t.Errorf("%s %s: executed %d times: %v", name, method, p.count(c.id), err)
				}
				if len(e.Report.Attempts) > 0 && e.Report.Attempts[0].Addr != p.addr {
					t.Errorf("%s %s: the first attempt is said to be with %q", name, method, e.Report.Attempts[0].Addr)
				}
			}
		}
	})
}

// It's the first attempt, or any: one that may have run is enough.
func TestOneAttemptThatMayHaveRunIsEnough(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for where := range 3 {
			p := r.peer(func(c *peerConn) {
				if c.num == 0 && c.arrives() {
					c.whole()
				}
			})
			dials := dialScript(func(n int) error {
				if n != where {
					return syscall.ECONNREFUSED
				}
				return nil
			})
			c := newCall(t.Context(), http.MethodGet, p.url, noBody)
			err := over(r.pool(pool.Config{Base: dials}), quick(retry.Default())).send(c)
			phases := []pool.Phase{pool.PhaseDial, pool.PhaseDial, pool.PhaseDial}
			phases[where] = pool.PhaseSent
			wantTruth(t, label("attempt", where), err, false, phases...)
			if p.count(c.id) != 1 {
				t.Errorf("executed %d times", p.count(c.id))
			}
		}
		p := r.peer((*peerConn).serve)
		dials := dialScript(func(int) error { return syscall.ECONNREFUSED })
		err := over(r.pool(pool.Config{Base: dials}), quick(retry.Default())).send(newCall(t.Context(), http.MethodPost, p.url, replayable))
		wantTruth(t, "none", err, true, pool.PhaseDial, pool.PhaseDial, pool.PhaseDial)
	})
}

// A POST that was refused twice, and met a refused dial then, has not run: each attempt has a
// proof of its own.
func TestAPostThatWasRefusedTwiceAndThenNotConnectedHasNotRun(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for name, top := range tops {
			for _, kind := range []bodyKind{replayable, noBody} {
				s := &shedding{n: -1}
				p := r.h2peer(peer.H2Options{Handler: s.serve})
				policy := retry.Default()
				policy.Backoff = func(retry int) time.Duration {
					if retry == 2 {
						p.Close()
					}
					return 0
				}
				c := newPatient(t, http.MethodPost, p.url, kind)
				err := top(&retry.Transport{Base: r.h2pool(pool.Config{}), Policy: policy}).send(c)
				e := wantTruth(t, label(name, kind), err, true, pool.PhaseRefused, pool.PhaseRefused, pool.PhaseDial)
				if !errors.Is(err, syscall.ECONNREFUSED) || p.count(c.id) != 0 {
					t.Errorf("%s: executed %d times: %v", name, p.count(c.id), err)
				}
				for i, proof := range []retry.Proof{retry.ProofRefused, retry.ProofRefused, retry.ProofNoConnection} {
					if i < len(e.Report.Attempts) && e.Report.Attempts[i].Proof != proof {
						t.Errorf("%s: attempt %d is proven by %q, want %q", name, i, e.Report.Attempts[i].Proof, proof)
					}
				}
			}
		}
	})
}

// A call that ends while it waits for its next attempt tells what the attempts before were.
func TestACallThatIsEndedInAWaitTellsTheTruthToo(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, ran := range []bool{false, true} {
			for stop := 1; stop <= 2; stop++ { // in the wait before this retry
				p := r.peer(func(c *peerConn) { c.whole() })
				dials := dialScript(func(n int) error {
					if ran && n == 0 {
						return nil
					}
					return syscall.ECONNREFUSED
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				policy := retry.Default()
				policy.Backoff = func(retry int) time.Duration {
					if retry == stop {
						cancel(errWhy)
					}
					return 0
				}
				c := newCall(ctx, http.MethodGet, p.url, noBody)
				err := over(r.pool(pool.Config{Base: dials}), policy).send(c)
				cancel(nil)
				name := label("ran:", ran, "stopped before", stop)
				if !errors.Is(err, context.Canceled) || !errors.Is(err, errWhy) {
					t.Errorf("%s: it isn't told why it ended: %v", name, err)
				}
				if u, ok := errors.AsType[provable](err); !ok || u.Unprocessed() == ran {
					t.Errorf("%s: unprocessed: %v: %v", name, ok && u.Unprocessed(), err)
				}
				if n, want := p.count(c.id), map[bool]int{true: 1}[ran]; n != want {
					t.Errorf("%s: executed %d times", name, n)
				}
			}
		}
	})
}

// Two retrying transports over each other, as where an SDK brings one: what the inner one has
// let run twice isn't sent again by the outer one because the last attempt could not connect.
func TestAnOuterLayerDoesNotTrustTheLastErrorAlone(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			p := r.peer(runsAndIsGone(l))
			inner := &retry.Transport{Base: r.pool(pool.Config{}), Policy: quick(retry.Default())} // for which a key is an opt-in
			outer := &counting{next: inner}
			c := newCall(t.Context(), method, p.url, replayable)
			c.Header.Set("Idempotency-Key", c.id)
			c, rep := reported(c)
			err := doer((&retry.Transport{Base: outer, Policy: quick(retry.NeverTimeouts())}).RoundTrip).send(c) // for which it is none
			if outer.n != 1 {
				t.Errorf("%s: the outer layer has sent it %d times, want once: it has run", method, outer.n)
			}
			wantTruth(t, method, err, false, pool.PhaseSent, pool.PhaseDial, pool.PhaseDial)
			if p.count(c.id) != 1 || rep.Retries != 2 {
				t.Errorf("%s: executed %d times, %d retries are reported", method, p.count(c.id), rep.Retries)
			}
		}
	})
}

// A counting counts the requests that it passes on.
type counting struct {
	next http.RoundTripper
	n    int
}

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n++
	return c.next.RoundTrip(req)
}
