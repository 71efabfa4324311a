package scenario

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// What HTTP/2 servers say of requests that they didn't process decides for every method; what they
// don't say decides for none.

// A server sheds load: it's sent what it refused again by the default policy, three times, with
// growing pauses. Then the caller has a proof for each attempt, and none has run.
func TestRefusalsAreToldOneByOne(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		together(4, func(i int) {
			method, n := []string{http.MethodPost, http.MethodDelete}[i%2], []int{3, -1}[i/2]
			s := &shedding{n: n}
			p := r.h2peer(peer.H2Options{Handler: s.serve})
			c, rep := reported(newPatient(t, method, p.url, replayable))
			start := time.Now()
			err := retrying.over(r.h2pool(pool.Config{})).send(c)
			name := label(method, n)
			if n < 0 {
				wantTruth(t, name, err, true, pool.PhaseRefused, pool.PhaseRefused, pool.PhaseRefused, pool.PhaseRefused)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			wantRefusals(t, name, s, rep)
			if took := time.Since(start); took < 700*time.Millisecond || took > patience/2 {
				t.Errorf("%s: it took %v", name, took)
			}
			if want := map[bool]int{true: 1}[n > 0]; p.count(c.id) != want || p.conns() != 1 || p.sum().Streams != 4 {
				t.Errorf("%s: executed %d times in %d sends on %d connections", name, p.count(c.id), p.sum().Streams, p.conns())
			}
		})
	})
}

// wantRefusals checks three waits, between four sends, that grow and are no lockstep.
func wantRefusals(t *testing.T, name string, s *shedding, rep *retry.Report) {
	t.Helper()
	if rep.Retries != 3 || len(rep.Attempts) != 4 || len(s.gaps()) != 3 {
		t.Errorf("%s: %d gaps, %+v", name, len(s.gaps()), rep)
		return
	}
	for i, gap := range s.gaps() {
		a := rep.Attempts[i]
		least := 100 * time.Millisecond << i
		if a.Proof != retry.ProofRefused || a.Evidence != retry.EvidenceRefused || a.Wait < least || a.Wait > least*3/2 || gap < a.Wait-time.Millisecond {
			t.Errorf("%s: attempt %d: %+v, and the next send came %v later", name, i, a, gap)
		}
	}
	if a, b, c := rep.Attempts[0].Wait, rep.Attempts[1].Wait, rep.Attempts[2].Wait; 2*a == b && 2*b == c {
		t.Errorf("%s: the waits %v, %v and %v have no jitter", name, a, b, c)
	}
}

// The limit on attempts is obeyed, and the deadline: no wait begins that would outlast it.
func TestRefusalsEndByTheLimitOrTheDeadline(t *testing.T) {
	cases := []struct {
		policy retry.Policy
		sends  int
		reason retry.Reason
	}{
		{retry.Policy{MaxRetries: 3}, 4, retry.ReasonExhausted},
		{retry.Policy{MaxRefused: 1}, 2, retry.ReasonExhausted},
		{retry.Policy{MaxRefused: -1}, 1, retry.ReasonExhausted},
		{retry.Policy{MaxRefused: 1, MaxRetries: 5}, 2, retry.ReasonExhausted},
		{retry.NeverTimeouts(), 3, retry.ReasonExhausted},
		{retry.Once(), 2, retry.ReasonExhausted},
		{retry.SafeOnly(), 1, retry.ReasonMethod},
		{retry.Off(), 1, retry.ReasonOff},
		{retry.Policy{MaxRetries: 9, Interval: patience + time.Second, MaxInterval: time.Minute}, 1, retry.ReasonDeadline},
		{retry.Policy{MaxRetries: 9, CallTimeout: patience / 2, Interval: patience / 2}, 1, retry.ReasonOutOfTime},
	}
	eachH2(t, func(t *testing.T, r *rig) {
		together(len(cases), func(i int) {
			tt := cases[i]
			s := &shedding{n: -1}
			p := r.h2peer(peer.H2Options{Handler: s.serve})
			var last retry.Reason
			rt := &retry.Transport{Base: r.h2pool(pool.Config{}), Policy: tt.policy, OnDecision: func(d retry.Decision) { last = d.Reason }}
			start := time.Now()
			e := wantPhase(t, string(tt.reason), doer(rt.RoundTrip).send(newPatient(t, http.MethodPost, p.url, replayable)), pool.PhaseRefused)
			if n := len(s.gaps()) + 1; n != tt.sends || last != tt.reason || !e.Unprocessed() || e.Resent != 0 {
				t.Errorf("%+v: %d sends, want %d; ended by %q, want %q", tt.policy, n, tt.sends, last, tt.reason)
			}
			if took := time.Since(start); took > patience/2 {
				t.Errorf("%+v: it took %v", tt.policy, took)
			}
		})
	})
}

// What a GOAWAY leaves out goes to another connection at once, whatever its method; what it
// covers is finished where it is.
func TestStreamsAboveAGoAwayGoElsewhereWithAnyMethod(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven()
		tr := r.h2pool(pool.Config{})
		do := over(tr, quick(retry.Default()))
		first := do.start(newPatient(t, http.MethodGet, p.url, noBody))
		asks.next(t).answer(t)
		all(t, first)
		var calls []<-chan error
		var got []ask
		var ids []string
		for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete, http.MethodPut, http.MethodPost} {
			c := newPatient(t, method, p.url, replayable)
			ids = append(ids, c.id)
			calls = append(calls, do.start(c))
			got = append(got, asks.next(t))
		}
		slices.SortFunc(got, func(a, b ask) int { return cmp.Compare(a.q.Stream, b.q.Stream) })
		if err := got[2].GoAway(got[2].q.Stream, http2.ErrCodeNo); err != nil {
			t.Fatal(err)
		}
		for range 2 { // at once: the others aren't answered yet
			a := asks.next(t)
			if a.Num == 0 {
				t.Errorf("request %d came again on the connection that goes away", a.q.ID)
			}
			a.answer(t)
		}
		late := do.start(newPatient(t, http.MethodPost, p.url, oneShot))
		if a := asks.next(t); a.Num == 0 {
			t.Errorf("request %d came on the connection that goes away", a.q.ID)
		} else {
			a.answer(t)
		}
		all(t, late)
		for _, a := range got[:3] {
			a.answer(t)
		}
		all(t, calls...)
		p.wantClosed(t, 0)
		for _, id := range ids {
			if p.count(id) != 1 {
				t.Errorf("request %s was executed %d times", id, p.count(id))
			}
		}
		asks.none(t)
	})
}

// A GOAWAY that covers a stream is no proof, with whatever code. The safe methods alone go
// again.
func TestAGoAwayThatCoversAStreamLetsOnlySafeMethodsGoAgain(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, last := range []uint32{1, 1<<31 - 1} {
			for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeInternal} {
				for _, method := range methods {
					p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
						_ = c.Settings()
						if c.Num > 0 {
							serveH2(c)
						} else if q, err := c.Request(); err == nil {
							c.Execute(q)
							_ = c.GoAway(last, code)
							c.Linger()
						}
					}})
					c, rep := reported(newPatient(t, method, p.url, noBody))
					err := sendAny(over(r.h2pool(pool.Config{}), quick(retry.Default())), c)
					name, want := label(method, last, code), 1
					if repeatable[method] {
						want = 2
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
					} else if e := wantPhase(t, name, err, pool.PhaseSent); !strings.Contains(e.Error(), code.String()) || e.Unprocessed() {
						t.Errorf("%s: %v", name, err)
					}
					if p.count(c.id) != want || rep.Retries != want-1 {
						t.Errorf("%s: executed %d times with %d retries, want %d", name, p.count(c.id), rep.Retries, want)
					}
				}
			}
		}
	})
}

// The connection ends behind a whole request, and nothing is said of it.
func TestAnH2RequestThatWasNotAnsweredGoesAgainOnlyIfItIsSafeOrMayRunTwice(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, style := range []peer.Style{peer.FIN, peer.BareFIN, peer.RST} {
			for _, method := range methods {
				for _, optIn := range []bool{false, true} {
					p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
						_ = c.Settings()
						if c.Num > 0 {
							serveH2(c)
						} else if q, err := c.Request(); err == nil {
							c.Execute(q)
							c.Close(style)
						}
					}})
					c := newPatient(t, method, p.url, noBody)
					if optIn {
						c.Header.Set("Idempotency-Key", c.id)
					}
					err := sendAny(over(r.h2pool(pool.Config{}), quick(retry.Default())), c)
					name, want := label(style, method, optIn), 1
					if repeatable[method] || optIn {
						want = 2
					}
					if p.count(c.id) != want || (err == nil) != (want == 2) {
						t.Errorf("%s: executed %d times, want %d: %v", name, p.count(c.id), want, err)
					}
				}
			}
		}
	})
}
