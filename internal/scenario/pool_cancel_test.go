package scenario

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A request whose context is over does nothing at all.
func TestADoneContextSendsAndDialsNothing(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer((*peerConn).serve)
		tr := r.pool(pool.Config{})
		why := errors.New("the reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		for i := range 1000 {
			f := fronts[i%len(fronts)]
			c := newCall(ctx, http.MethodPost, p.url, bodyKinds[i/len(fronts)%len(bodyKinds)])
			err := f.over(tr).send(c)
			if !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", f.name, err)
			}
			if c.body != nil && c.body.reads.Load() > 0 || c.body.misuse() != nil {
				t.Fatalf("%s: %d reads, %v", f.name, c.body.reads.Load(), c.body.misuse())
			}
		}
		if total := tr.Stats().Total; total.Dials != 0 || p.conns() != 0 {
			t.Errorf("%d dials, %d connections", total.Dials, p.conns())
		}
		// The same with a connection to hand.
		doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
		for range 100 {
			if err := doer(tr.RoundTrip).send(newCall(ctx, http.MethodGet, p.url, noBody)); poolError(t, err).Phase != pool.PhaseWait {
				t.Fatal(err)
			}
		}
		if p.received() != 1 || gauges(tr) != (counts{Open: 1, Idle: 1}) {
			t.Errorf("%d requests, %+v", p.received(), gauges(tr))
		}
	})
}

// The context ends while the retry layer waits before the next dial: there is none.
func TestNoDialFollowsACancelledBackoff(t *testing.T) {
	r := newRig(t, plain)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	ln.Close() // connections are refused from now on
	for i := range 200 {
		tr := r.pool(pool.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		policy := retry.Policy{MaxRetries: 3, Backoff: func(int) time.Duration {
			time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
			return time.Minute
		}}
		c := newCall(ctx, http.MethodPost, url, bodyKinds[i%len(bodyKinds)])
		err := doer((&retry.Transport{Base: tr, Policy: policy}).RoundTrip).send(c)
		// A cancel before the wait has begun leaves the dial's own error alone.
		if pe := poolError(t, err); pe.Phase != pool.PhaseDial || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("%v", err)
		}
		if n := tr.Stats().Total.Dials; n != 1 {
			t.Fatalf("%d dials", n)
		}
		if c.body != nil && c.body.reads.Load() > 0 || c.body.misuse() != nil {
			t.Fatalf("%d reads, %v", c.body.reads.Load(), c.body.misuse())
		}
	}
}

// Wherever a cancel meets its request, the caller gets the answer or his own reason, and
// the books balance.
func TestACancelAtAnyMomentLeavesNothingBehind(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer((*peerConn).serve)
		tr := r.pool(pool.Config{MaxConnsPerHost: 3})
		const workers, rounds = 6, 60
		together(workers, func(w int) {
			do := fronts[w%len(fronts)].over(tr)
			for i := range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				stop := time.AfterFunc(time.Duration((w*rounds+i)%100)*10*time.Microsecond, cancel)
				c := newCall(ctx, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])
				if err := do.send(c); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				if err := c.body.misuse(); err != nil {
					t.Error(err)
				}
				stop.Stop()
				cancel()
			}
		})
		if len(p.twice()) > 0 {
			t.Errorf("came twice: %v", p.twice())
		}
		doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
		if !within(restTime, func() bool { g := gauges(tr); return g.Waiting == 0 && g.InUse == 0 && g.Dialing == 0 }) {
			t.Errorf("%+v", gauges(tr))
		}
	})
}

// The peer is silent, and answers when nobody listens any more. Nobody must get that.
func TestALateAnswerReachesNobody(t *testing.T) {
	const limit = 120 * time.Millisecond
	ends := []struct {
		name string
		over func(pool.Config) (pool.Config, time.Duration) // and the context's limit
	}{
		{"header limit", func(c pool.Config) (pool.Config, time.Duration) {
			c.Base = &http.Transport{ResponseHeaderTimeout: limit}
			return c, time.Minute
		}},
		{"deadline", func(c pool.Config) (pool.Config, time.Duration) { return c, limit }},
	}
	eachMode(t, func(t *testing.T, r *rig) {
		together(len(ends), func(k int) {
			e := ends[k]
			p := r.peer(func(c *peerConn) {
				q, err := c.request()
				if err != nil || c.answer(q) != nil {
					return
				}
				if q, err = c.request(); err != nil {
					return
				}
				io.Copy(io.Discard, c.br) // until the client has given up
				c.answer(q)
			})
			cfg, deadline := e.over(pool.Config{MaxConnsPerHost: 1})
			tr := r.pool(cfg)
			for i, kind := range bodyKinds {
				// With a limit of one, this needs the slot that the last connection had.
				if err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, oneShot)); err != nil {
					t.Errorf("%s, %s: the request before: %v", e.name, kind, err)
				}
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				c := newCall(ctx, []string{"POST", "GET"}[i%2], p.url, kind)
				err := doer(tr.RoundTrip).send(c)
				took := time.Since(start)
				if pe := poolError(t, err); pe.Phase != pool.PhaseSent || !pe.Timeout() || !pe.Reused || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s, %s: %#v", e.name, kind, pe)
				}
				if took < limit || took > limit+time.Second {
					t.Errorf("%s, %s: it took %v, with a limit of %v", e.name, kind, took, limit)
				}
				if err := c.body.misuse(); err != nil {
					t.Error(err)
				}
				if n := p.count(c.id); n != 1 {
					t.Errorf("%s, %s: the request came %d times", e.name, kind, n)
				}
			}
			if n := len(bodyKinds); p.conns() != n || p.received() != 2*n {
				t.Errorf("%s: %d requests on %d connections, want %d", e.name, p.received(), p.conns(), n)
			}
		})
	})
}

// The deadline comes while the body is read: Read says so at once, and the slot is free
// although nobody calls Close.
func TestADeadlineWhileTheBodyDribbles(t *testing.T) {
	const limit = 200 * time.Millisecond
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(func(c *peerConn) {
			for q, err := c.request(); q == nil || q.Method == http.MethodPost; q, err = c.request() {
				if err != nil || c.answer(q) != nil {
					return
				}
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
			for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		})
		together(len(fronts), func(i int) {
			tr := r.pool(pool.Config{MaxConnsPerHost: 1})
			if err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, oneShot)); err != nil {
				t.Errorf("%s: the request before: %v", fronts[i].name, err)
			}
			do, ctx, start := fronts[i].over(tr), t.Context(), time.Now()
			if fronts[i].name == clientTimeout.name {
				do = (&http.Client{Transport: tr, Timeout: limit}).Do
			} else {
				c, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				ctx = c
			}
			resp, err := do(newCall(ctx, http.MethodGet, p.url, noBody).Request)
			if err != nil {
				t.Errorf("%s: %v", fronts[i].name, err)
				return
			}
			n, err := io.Copy(io.Discard, resp.Body)
			took := time.Since(start)
			if n == 0 || !errors.Is(err, context.DeadlineExceeded) || !os.IsTimeout(err) || took < limit || took > limit+500*time.Millisecond {
				t.Errorf("%s: %d bytes and %v after %v", fronts[i].name, n, err, took)
			}
			if fronts[i].name != clientTimeout.name { // which hides the chain
				if pe := poolError(t, err); pe.Phase != pool.PhaseResponse || pe.Sent == 0 {
					t.Errorf("%s: %#v", fronts[i].name, pe)
				}
			}
			if err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, oneShot)); err != nil {
				t.Errorf("%s: the next request: %v", fronts[i].name, err)
			}
			if n := tr.Stats().Total.ClosedBy[pool.ReasonCancelled]; n != 1 {
				t.Errorf("%s: closed: %v", fronts[i].name, tr.Stats().Total.ClosedBy)
			}
		})
	})
}
