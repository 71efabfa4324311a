package scenario

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A besieged is a client, and what it may do.
type besieged struct {
	name  string
	over  func(*rig) http.RoundTripper
	heads bool // two heads are allowed
}

func (r *rig) guarded(g *pool.Guard, byTLS bool) *http.Transport {
	tr := &http.Transport{DialContext: g.DialContext, TLSClientConfig: clientTLS("")}
	if byTLS {
		tr.DialTLSContext = g.DialTLSContext
	}
	r.t.Cleanup(func() {
		// What http.Transport dials for a request that has ended becomes idle afterwards.
		within(restTime, func() bool { tr.CloseIdleConnections(); return guardGauges(g) == (counts{}) })
	})
	return tr
}

func besiegedClients() []besieged {
	policy := quick(retry.Policy{MaxRetries: 3})
	optIn := policy
	optIn.ResendHeadOnly = true
	over := func(rt http.RoundTripper, p retry.Policy) http.RoundTripper {
		return &retry.Transport{Base: rt, Policy: p}
	}
	return []besieged{
		{"pool", func(r *rig) http.RoundTripper { return over(r.pool(pool.Config{}), policy) }, false},
		{"pool that asks", func(r *rig) http.RoundTripper { return over(r.pool(pool.Config{ConfirmAfter: 1}), policy) }, false},
		{"pool that asks, two heads allowed", func(r *rig) http.RoundTripper { return over(r.pool(pool.Config{ConfirmAfter: 1}), optIn) }, true},
		{"Guard", func(r *rig) http.RoundTripper {
			return over(r.guarded(r.newGuard(pool.GuardConfig{}), false), policy)
		}, false},
		{"Guard with TLS", func(r *rig) http.RoundTripper {
			return over(r.guarded(r.newGuard(pool.GuardConfig{TLSClientConfig: clientTLS("")}), true), policy)
		}, false},
	}
}

// Whatever a peer does, and in whichever moment: no POST's request line reaches it twice, unless
// that was allowed; and its body never does.
func TestAttackNoPostTwice(t *testing.T) {
	long(t)
	const rounds, workers = 240, 8
	for _, cl := range besiegedClients() {
		t.Run(cl.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, r *rig) {
				l := newLedger()
				p := r.peer(hostile(l))
				rt := cl.over(r)
				tally := r.siege(rt, p.url, workers, rounds, true)
				if twice := l.twice(l.lines); len(twice) > 0 && !cl.heads {
					t.Errorf("request lines came twice: %v", twice)
				}
				if twice := l.twice(l.bodies); len(twice) > 0 {
					t.Errorf("bodies came twice: %v", twice)
				}
				tally.wantSome(t)
			})
		})
	}
}

// A tally counts what became of requests.
type tally struct{ sent, good, retried atomic.Int64 }

func (n *tally) wantSome(t *testing.T) {
	t.Helper()
	t.Logf("%d of %d fine, %d retries", n.good.Load(), n.sent.Load(), n.retried.Load())
	if n.good.Load() == 0 || n.retried.Load() == 0 {
		t.Error("nothing was put to the test")
	}
}

// siege sends requests of all kinds with pauses of all kinds.
func (r *rig) siege(rt http.RoundTripper, url string, workers, rounds int, bodies bool) *tally {
	n := new(tally)
	together(workers, func(w int) {
		rnd := rand.New(rand.NewPCG(uint64(w), 3))
		for range rounds / workers {
			n.sent.Add(1)
			rep, err := besiege(r.t, rt, url, rnd, bodies)
			if err == nil {
				n.good.Add(1)
			}
			n.retried.Add(int64(rep.Retries))
			if rnd.IntN(2) == 0 {
				pause(time.Duration(rnd.IntN(4000)) * time.Microsecond)
			}
		}
	})
	return n
}

// besiege sends one request, of any kind.
func besiege(t *testing.T, rt http.RoundTripper, url string, rnd *rand.Rand, bodies bool) (*retry.Report, error) {
	rep := new(retry.Report)
	ctx := retry.WithReport(t.Context(), rep)
	if rnd.IntN(6) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(5000))*time.Microsecond)
		defer cancel()
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	method := http.MethodPost
	if rnd.IntN(5) == 0 {
		method = http.MethodGet
	}
	var body io.Reader
	switch rnd.IntN(4) {
	case 0:
	case 1:
		body = io.MultiReader(strings.NewReader("a stream that can't be had again"))
	case 2:
		body = strings.NewReader(strings.Repeat("much ", 30<<10))
	default:
		body = strings.NewReader("body")
	}
	if method == http.MethodGet || !bodies {
		body = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, url+"/"+nextID(), body)
	if err != nil {
		t.Error(err)
		return rep, err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return rep, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return rep, err
}
