package scenario

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"os"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// idleFor answers requests and closes a connection in the given way once it has been
// idle for d, as proxies do. It notes requests that came later than that.
func idleFor(d time.Duration, end ending) script {
	return func(c *peerConn) {
		for {
			c.tcp.SetReadDeadline(time.Now().Add(d))
			if _, err := c.br.Peek(1); os.IsTimeout(err) {
				end.close(c)
				return
			} else if err != nil {
				return
			}
			c.tcp.SetReadDeadline(time.Time{})
			q, err := c.request()
			if err != nil || c.answer(q) != nil {
				return
			}
		}
	}
}

// A pacer sends requests with gaps between an answer and the next request, on a
// transport of its own, and notes on what connections they went.
type pacer struct {
	do     doer
	kind   bodyKind
	method string
	url    string

	fresh, reused int
	oldest        time.Duration // the longest idle time of a connection that was used
}

func (p *pacer) send(ctx context.Context) error {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if !i.Reused {
			p.fresh++
			return
		}
		p.reused++
		p.oldest = max(p.oldest, i.IdleTime)
	}})
	return p.do.send(newCall(ctx, p.method, p.url, p.kind))
}

// pace sends a request, and one more after each gap.
func (p *pacer) pace(t tester, gaps ...time.Duration) {
	for i := 0; ; i++ {
		if err := p.send(t.Context()); err != nil {
			t.Errorf("%s with %s, request %d: %v", p.method, p.kind, i, err)
			return
		}
		if i == len(gaps) {
			return
		}
		pause(gaps[i])
	}
}

// paceAll runs n pacers at the same time, each with its own front, body and transport.
func paceAll(t *testing.T, r *rig, url string, cfg pool.Config, n int, gaps func(i int) []time.Duration) []*pacer {
	ps := make([]*pacer, n)
	for i := range ps {
		ps[i] = &pacer{do: fronts[i%len(fronts)].over(r.pool(cfg)), method: http.MethodPost, kind: bodyKinds[i/len(fronts)%len(bodyKinds)], url: url}
	}
	together(n, func(i int) { ps[i].pace(t, gaps(i)...) })
	return ps
}

// The case that people come for: a service calls about as often as the proxy's idle
// timeout is long.
func TestPostsPacedAtTheProxysIdleTimeoutNeverFail(t *testing.T) {
	const T, margin, n = 300 * time.Millisecond, 30 * time.Millisecond, 16
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		if end.name == "RST" {
			return // it would take the answer with it
		}
		p := r.peer(idleFor(T, end))
		ps := paceAll(t, r, p.url, pool.Config{ProxyIdleTimeout: T}, n, func(i int) []time.Duration {
			return []time.Duration{T + time.Duration(i-n/2)*time.Millisecond, T - time.Duration(i%6)*time.Millisecond}
		})
		for _, p := range ps {
			if p.oldest >= T-margin || p.reused > 0 {
				t.Errorf("a connection was used after %v, %d times in all", p.oldest, p.reused)
			}
		}
		if got := p.received(); got != 3*n || len(p.twice()) > 0 {
			t.Errorf("the peer got %d requests of %d, and twice: %v", got, 3*n, p.twice())
		}
	})
}

// Gaps around the limit itself, which is far from the peer's timeout here, so that only
// the pool's own judgement is tested, and gaps well below it.
func TestReuseEndsAtTheLimitAndNotBefore(t *testing.T) {
	const T, margin, n = 500 * time.Millisecond, 300 * time.Millisecond, 16
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(idleFor(T, endings[0]))
		cfg := pool.Config{ProxyIdleTimeout: T, IdleMargin: margin}
		ps := paceAll(t, r, p.url, cfg, n, func(i int) []time.Duration {
			at := T - margin + time.Duration(i-n/2)*time.Millisecond
			return []time.Duration{10 * time.Millisecond, at, 20 * time.Millisecond, at}
		})
		reused := 0
		for _, p := range ps {
			reused += p.reused
			if p.oldest >= T-margin {
				t.Errorf("a connection was used after %v, with a limit of %v", p.oldest, T-margin)
			}
		}
		if reused < n { // two of four gaps are short for everyone
			t.Errorf("%d of %d requests reused a connection", reused, 5*n)
		}
		if got := p.received(); got != 5*n || len(p.twice()) > 0 {
			t.Errorf("the peer got %d requests of %d, and twice: %v", got, 5*n, p.twice())
		}
	})
}

// A low rate of requests, with no retries, is where stale connections used to show.
func TestPostsAtALowRateNeverFail(t *testing.T) {
	const T, n = 300 * time.Millisecond, 16
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(idleFor(T, endings[0]))
		cfg := pool.Config{ProxyIdleTimeout: T, IdleMargin: T / 3}
		paceAll(t, r, p.url, cfg, n, func(i int) (gaps []time.Duration) {
			for k := range 3 { // from 0.1 to 1.6 T, each pacer in another order
				gaps = append(gaps, T/10+time.Duration((i*7+k*11)%n)*T/10)
			}
			return gaps
		})
		if got := p.received(); got != 4*n || len(p.twice()) > 0 {
			t.Errorf("the peer got %d requests of %d, and twice: %v", got, 4*n, p.twice())
		}
	})
}

// The pool's own timer and the next request meet: a connection is closed or handed out.
func TestTheIdleTimerNeverHitsAConnectionInUse(t *testing.T) {
	const idle, n = 30 * time.Millisecond, 12
	eachMode(t, func(t *testing.T, r *rig) {
		rounds := 20
		if r.mode.tls {
			rounds = 8 // most need a handshake
		}
		p := r.peer((*peerConn).serve)
		cfg := pool.Config{Base: &http.Transport{IdleConnTimeout: idle}}
		paceAll(t, r, p.url, cfg, n, func(i int) (gaps []time.Duration) {
			for k := range rounds {
				gaps = append(gaps, idle+time.Duration((i+k)%5-2)*time.Millisecond/2)
			}
			return gaps
		})
		if got := p.received(); got != n*(rounds+1) {
			t.Errorf("the peer got %d requests of %d", got, n*(rounds+1))
		}
	})
}
