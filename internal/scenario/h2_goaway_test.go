package scenario

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// A GOAWAY proves what is above its last id unprocessed, and nothing else.

// The whole request had arrived when the GOAWAY disowned it: another connection gets it,
// if its body can be had again, and else the caller is told so at once.
func TestGoAwayBelowARequestProvesItUnprocessed(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, f := range []front{bare, retrying} {
			for _, kind := range bodyKinds {
				p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
					_ = c.Settings()
					if c.Num > 0 {
						serveH2(c)
					} else if _, err := c.Request(); err == nil {
						_ = c.GoAway(0, http2.ErrCodeNo)
						ignoreH2(c)
					}
				}})
				do, start := f.over(r.h2pool(pool.Config{})), time.Now()
				c := newPatient(t, http.MethodPost, p.url, kind)
				err := do.send(c)
				name := label(f.name, kind)
				wantDisowned(t, name, p, c, kind, err)
				if took := time.Since(start); took > restTime {
					t.Errorf("%s: it took %v", name, took)
				}
				p.wantClosed(t, 0)
			}
		}
	})
}

// wantDisowned checks what became of a request that only its second connection may run.
func wantDisowned(t *testing.T, name string, p *h2Peer, c *call, kind bodyKind, err error) {
	t.Helper()
	want := 1
	if err != nil {
		want = 0
		if e := wantPhase(t, name, err, pool.PhaseRefused); !e.BodyTouched {
			t.Errorf("%s: the body is said to be untouched", name)
		}
	}
	if again := kind == replayable || kind == noBody; again != (err == nil) && kind != inMemory {
		t.Errorf("%s: %v", name, err)
	}
	if n := p.count(c.id); n != want {
		t.Errorf("%s: executed %d times, want %d", name, n, want)
	}
	if n := p.conns(); n != 1+want {
		t.Errorf("%s: %d connections, want %d", name, n, 1+want)
	}
	if err := c.body.misuse(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Servers retire a connection by count, with requests under way on it: 100 are served,
// and those behind them dropped. None is lost, and none runs twice. A request may meet such
// an end several times in a row; then the pool, which has a bound, leaves it to retry.
func TestConnectionsThatRetireByCountLoseNothing(t *testing.T) {
	long(t)
	const workers, rounds, each = 16, 312, 100
	for _, grace := range []time.Duration{20 * time.Millisecond, 0} {
		t.Run(grace.String(), func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				f := peer.H2Faults{StreamsPerConn: each, GoAway: peer.H2GoAway{Grace: grace}}
				p := r.h2peer(peer.H2Options{Faults: f})
				do := retrying.over(r.h2pool(pool.Config{}))
				together(workers, func(int) {
					for range rounds {
						if err := do.send(newPatient(t, http.MethodPost, p.url, replayable)); err != nil {
							t.Error(err)
						}
					}
				})
				const total = workers * rounds
				if rep := p.Report(); rep.Requests != total || len(p.twice()) > 0 {
					t.Errorf("%d requests executed, want %d; more than once: %v", rep.Requests, total, p.twice())
				}
				if n := p.conns(); n < total/each || n > total/each+10 {
					t.Errorf("%d connections, want about %d", n, total/each)
				}
			})
		})
	}
}

// What was accepted before a GOAWAY is finished on its connection, what wasn't goes to
// another one at once, and so does what comes later.
func TestGoAwayFinishesAcceptedStreams(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven()
		do := doer(r.h2pool(pool.Config{}).RoundTrip)
		warm := do.start(newPatient(t, http.MethodGet, p.url, noBody))
		asks.next(t).answer(t)
		all(t, warm)

		var calls []<-chan error
		var got []ask
		for range 5 {
			calls = append(calls, do.start(newPatient(t, http.MethodPost, p.url, replayable)))
		}
		for range 5 {
			got = append(got, asks.next(t))
		}
		slices.SortFunc(got, func(a, b ask) int { return cmp.Compare(a.q.Stream, b.q.Stream) })
		if err := got[2].GoAway(got[2].q.Stream, http2.ErrCodeNo); err != nil {
			t.Fatal(err)
		}
		again := []ask{asks.next(t), asks.next(t)}
		calls = append(calls, do.start(newPatient(t, http.MethodPost, p.url, oneShot)))
		for _, a := range append(again, asks.next(t)) {
			if a.Num != 1 {
				t.Errorf("request %d came on connection %d", a.q.ID, a.Num)
			}
			a.answer(t)
		}
		for _, a := range got[:3] {
			a.answer(t)
		}
		all(t, calls...)
		p.wantClosed(t, 0)
		if a, b := p.conn(0).Executed, p.conn(1).Executed; a != 4 || b != 3 {
			t.Errorf("the connections executed %d and %d requests, want 4 and 3", a, b)
		}
	})
}

// A GOAWAY that covers the request's stream proves nothing: it may have run, and has.
func TestGoAwayAboveARequestProvesNothing(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, last := range []uint32{1, 1<<31 - 1} {
			for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeInternal} {
				for _, f := range []front{bare, retrying} {
					name := label(last, code, f.name)
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
					c := newPatient(t, http.MethodPost, p.url, replayable)
					err := f.over(r.h2pool(pool.Config{})).send(c)
					wantPhase(t, name, err, pool.PhaseSent)
					if p.count(c.id) != 1 || p.conns() != 1 {
						t.Errorf("%s: executed %d times, %d connections", name, p.count(c.id), p.conns())
					}
					if err == nil {
						continue
					}
					for _, fact := range []string{"GOAWAY", strconv.Itoa(int(last)), code.String()} {
						if !strings.Contains(err.Error(), fact) {
							t.Errorf("%s: the error doesn't tell of %s: %v", name, fact, err)
						}
					}
				}
			}
		}
	})
}

// The same with a safe method: the retry layer may send it again.
func TestAGetWhoseConnectionWentAwayIsSentAgain(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
			_ = c.Settings()
			if c.Num > 0 {
				serveH2(c)
			} else if q, err := c.Request(); err == nil {
				c.Execute(q)
				_ = c.GoAway(q.Stream, http2.ErrCodeInternal)
				c.Linger()
			}
		}})
		c, rep := reported(newPatient(t, http.MethodGet, p.url, noBody))
		over(r.h2pool(pool.Config{}), quick(retry.Default())).must(t, c)
		if p.count(c.id) != 2 || rep.Retries != 1 {
			t.Errorf("executed %d times with %d retries, want 2 and 1", p.count(c.id), rep.Retries)
		}
	})
}
