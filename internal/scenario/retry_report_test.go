package scenario

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A report tells of each attempt what a caller has to know, in fields: nobody has to read the text
// of an error.

// crossesAndCharges answers a request and crosses the next one; what comes on its second connection
// it runs and doesn't answer; what comes on others it serves.
func crossesAndCharges(l leave) script {
	return func(c *peerConn) {
		switch {
		case c.num == 0 && c.served():
			if c.arrives() {
				l.by(c)
			}
		case c.num == 1:
			if _, err := c.whole(); err == nil {
				l.by(c)
			}
		case c.num > 1:
			c.serveWhole()
		}
	}
}

const reportedWait = 5 * time.Millisecond

var patientPolicy = retry.Policy{Backoff: func(n int) time.Duration { return time.Duration(n) * reportedWait }}

// wantReport checks the report of the call that crossesAndCharges makes take three attempts.
func wantReport(t *testing.T, name string, p *rawPeer, rep *retry.Report, start time.Time) {
	t.Helper()
	if rep == nil || rep.Retries != 2 || len(rep.Errors) != 2 || len(rep.Attempts) != 3 {
		t.Errorf("%s: %+v", name, rep)
		return
	}
	for i, a := range rep.Attempts {
		if a.Addr != p.addr || a.Proto != "HTTP/1.1" || a.Reused != (i == 0) || a.Evidence != retry.EvidenceMaybeSent || a.Proof != retry.ProofNone {
			t.Errorf("%s: attempt %d: %+v", name, i, a)
		}
		if a.Start.Before(start.Add(-time.Millisecond)) || a.Took < 0 || a.Start.Add(a.Took).After(time.Now().Add(time.Millisecond)) {
			t.Errorf("%s: attempt %d began at %v and took %v", name, i, a.Start.Sub(start), a.Took)
		}
		if i < 2 {
			next := rep.Attempts[i+1].Start
			if want := patientPolicy.Backoff(i + 1); a.Wait != want || next.Sub(a.Start.Add(a.Took)) < want-time.Millisecond {
				t.Errorf("%s: a wait of %v behind attempt %d, want %v; the next one began after %v", name, a.Wait, i, want, next.Sub(a.Start.Add(a.Took)))
			}
			e, ok := errors.AsType[*pool.Error](a.Err)
			if !ok || a.Phase != e.Phase || a.Status != 0 || a.Reason != retry.ReasonRepeatable || rep.Errors[i] != a.Err {
				t.Errorf("%s: attempt %d: %+v", name, i, a)
			} else if e.Sent <= 0 || (e.Idle > 0) != (i == 0) || e.Addr != p.addr {
				t.Errorf("%s: attempt %d: %d bytes sent, idle for %v, with %q", name, i, e.Sent, e.Idle, e.Addr)
			}
		}
	}
}

func TestAnAnswersReportTellsEachAttempt(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for name, top := range tops {
			p := r.peer(crossesAndCharges(l))
			rt := &retry.Transport{Base: r.pool(pool.Config{}), Policy: patientPolicy}
			do := top(rt)
			do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
			start := time.Now()
			c, rep := reported(newCall(t.Context(), http.MethodGet, p.url, noBody))
			resp, err := do(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(b) != c.id || err != nil {
				t.Errorf("%s: got %q, %v", name, b, err)
			}
			wantReport(t, name+", by context", p, rep, start)
			wantReport(t, name+", by answer", p, retry.ReportOf(resp), start)
			if last := rep.Attempts[2]; last.Phase != pool.PhaseResponse || last.Status != http.StatusOK || last.Err != nil || last.Reason != "" || last.Wait != 0 {
				t.Errorf("%s: the last attempt: %+v", name, last)
			}
		}
	})
}

func TestAnErrorsReportTellsEachAttempt(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for name, top := range tops {
			p := r.peer(func(c *peerConn) {
				if c.num > 1 {
					charges(1, l)(c)
				} else {
					crossesAndCharges(l)(c)
				}
			})
			rt := &retry.Transport{Base: r.pool(pool.Config{}), Policy: patientPolicy}
			do := top(rt)
			do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
			start := time.Now()
			c, rep := reported(newCall(t.Context(), http.MethodGet, p.url, noBody))
			err := do.send(c)
			e, ok := errors.AsType[*retry.Error](err)
			if !ok {
				t.Fatalf("%s: no *retry.Error in %v", name, err)
			}
			wantReport(t, name+", by context", p, rep, start)
			wantReport(t, name+", by error", p, &e.Report, start)
			last := e.Report.Attempts[2]
			if last.Phase != pool.PhaseSent || last.Status != 0 || !errors.Is(err, last.Err) || last.Reason != retry.ReasonExhausted || last.Wait != 0 {
				t.Errorf("%s: the last attempt: %+v", name, last)
			}
			if ne, ok := errors.AsType[net.Error](err); !ok || ne.Timeout() {
				t.Errorf("%s: it counts as a timeout: %v", name, err)
			}
			for _, word := range []string{"2 retries", p.addr} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s: the text doesn't tell of %q: %v", name, word, err)
				}
			}
		}
	})
}

// What wasn't retried has no report: neither the answer nor the error.
func TestWithoutARetryThereIsNoReport(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for name, top := range tops {
			p := r.peer(crossesAndCharges(leaveFIN))
			do := top(&retry.Transport{Base: r.pool(pool.Config{})})
			c, rep := reported(newCall(t.Context(), http.MethodPost, p.url, replayable))
			resp, err := do(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if retry.ReportOf(resp) != nil || rep.Retries != 0 || rep.Errors != nil || rep.Attempts != nil {
				t.Errorf("%s: %+v, %+v", name, retry.ReportOf(resp), rep)
			}
			c, rep = reported(newCall(t.Context(), http.MethodPost, p.url, replayable))
			err = do.send(c)
			if _, ok := errors.AsType[*retry.Error](err); ok || err == nil || rep.Retries != 0 || rep.Attempts != nil {
				t.Errorf("%s: %v, %+v", name, err, rep)
			}
			wantAmbiguous(t, err, true)
		}
	})
}

// Each decision is told with its reason, before the wait, whatever comes of it.
func TestEachDecisionIsToldWithItsReason(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, tt := range []struct {
			method string
			want   []retry.Reason
		}{
			{http.MethodGet, []retry.Reason{retry.ReasonRepeatable, retry.ReasonRepeatable}},
			{http.MethodPost, []retry.Reason{retry.ReasonProcessed}},
		} {
			p := r.peer(crossesAndCharges(l))
			var got []retry.Reason
			rt := &retry.Transport{Base: r.pool(pool.Config{}), Policy: quick(retry.Default()), OnDecision: func(d retry.Decision) {
				got = append(got, d.Reason)
				if d.Retry != (d.Reason == retry.ReasonRepeatable) || d.Attempt.Reason != d.Reason || d.Attempt.Err == nil || d.Request.URL.Host != p.addr {
					t.Errorf("%+v", d)
				}
			}}
			doer(rt.RoundTrip).must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
			_ = doer(rt.RoundTrip).send(newCall(t.Context(), tt.method, p.url, noBody))
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: the reasons are %q, want %q", tt.method, got, tt.want)
			}
		}
	})
}

// A signature that has expired between two attempts is made anew, or never sent.
func TestEachAttemptIsSignedAnew(t *testing.T) {
	errExpired := errors.New("the key has expired")
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, expires := range []bool{false, true} {
			var in inbox
			p := r.peer(func(c *peerConn) {
				if q, err := c.whole(); err == nil {
					in.put(q)
					if c.num > 0 {
						c.answer(q)
					} else {
						l.by(c)
					}
				}
			})
			rt := &retry.Transport{Base: r.pool(pool.Config{}), Policy: quick(retry.Default())}
			rt.BeforeAttempt = func(req *http.Request, n int) error {
				req.Header.Set("X-Signature", label("attempt", n))
				if expires && n > 0 {
					return errExpired
				}
				return nil
			}
			c, rep := reported(newCall(t.Context(), http.MethodGet, p.url, noBody))
			err := doer(rt.RoundTrip).send(c)
			var signed []string
			for _, q := range in.all() {
				signed = append(signed, q.Header.Get("X-Signature"))
			}
			want := []string{label("attempt", 0), label("attempt", 1)}
			if expires {
				want = want[:1]
				if e := poolError(t, err); !errors.Is(err, errExpired) || e.Phase != pool.PhaseUnsent {
					t.Errorf("vetoed: %v", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if !slices.Equal(signed, want) || c.Header.Get("X-Signature") != "" || rep.Retries != 1 {
				t.Errorf("expires: %v: signed %q, want %q; the caller's request has %q; %d retries", expires, signed, want, c.Header.Get("X-Signature"), rep.Retries)
			}
		}
	})
}
