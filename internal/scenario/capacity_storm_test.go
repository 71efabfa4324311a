package scenario

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// Forty workers with less time than they need crowd a limit of two, and leave at any
// moment: while they wait, in a dial, in a handshake, while they send or read. There are
// never more connections than two, and when they are gone a plain request goes through at
// once.
func TestAfterAStormOfCancelsSlotsAreFree(t *testing.T) {
	waysAtOnce(t, []way{
		{"hook", anywhere, func(_ *rig, s *site, _ *pool.Config) string { return s.url }},
		throughProxies[1], // CONNECT
		throughProxies[3], // SOCKS5
	}, func(t *testing.T, r *rig, sp speech, w way) {
		const workers, limit, lasts = 40, 2, 800 * time.Millisecond
		s := r.dawdler(sp)
		var open openConns
		tr, url := r.by(w, s, pool.Config{MaxConnsPerHost: limit, Base: &http.Transport{DialContext: open.dial}})
		over := time.Now().Add(lasts)
		var mu sync.Mutex
		served := 0
		together(workers, func(i int) {
			do := fronts[i%len(fronts)].over(tr)
			for k := 0; time.Now().Before(over); k++ {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(40_000))*time.Microsecond)
				c := newCall(ctx, http.MethodPost, url, bodyKinds[(i+k)%len(bodyKinds)])
				err := do.send(c)
				cancel()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				} else if err == nil {
					mu.Lock()
					served++
					mu.Unlock()
				}
				if err := c.body.misuse(); err != nil {
					t.Error(err)
				}
			}
		})
		if open.peak.Load() > limit {
			t.Errorf("%d connections at a time, with a limit of %d", open.peak.Load(), limit)
		}
		if n := gauges(tr).Waiting; n != 0 {
			t.Errorf("%d wait, and all have left", n)
		}
		start := time.Now()
		doer(tr.RoundTrip).must(t, newPatient(t, http.MethodPost, url, oneShot))
		if took := time.Since(start); took > 3*soon {
			t.Errorf("after %d served requests a plain one took %v", served, took)
		}
		if n := s.twice(); n > 0 {
			t.Errorf("%d requests came twice", n)
		}
		if !within(soon, func() bool { g := gauges(tr); return g.InUse == 0 && g.Dialing <= limit }) {
			t.Errorf("%+v", gauges(tr))
		}
	})
}

// dawdler starts a server that takes up to 4 ms for each answer, and streams its body.
func (r *rig) dawdler(sp speech) *site {
	s := &site{speech: sp}
	if sp.h2 {
		s.p2 = r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
			_ = c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3})
			for q, err := c.Request(); err == nil; q, err = c.Request() {
				time.AfterFunc(rand.N(4*time.Millisecond), func() { _ = c.Answer(q) })
			}
		}})
		s.url, s.addr = s.p2.url, s.p2.Addr()
		return s
	}
	s.h1 = r.peer(func(c *peerConn) {
		for q, err := c.request(); err == nil; q, err = c.request() {
			if !c.peer.stays(rand.N(2 * time.Millisecond)) {
				return
			}
			text := answerText(q.id)
			last := len(text) - 1 // in the midst of the body
			if _, err := io.WriteString(c, text[:last]); err != nil || !c.peer.stays(rand.N(2*time.Millisecond)) {
				return
			}
			if _, err := io.WriteString(c, text[last:]); err != nil {
				return
			}
		}
	})
	s.url, s.addr = s.h1.url, s.h1.addr
	return s
}

// openConns counts connections from their dial's return to their Close.
type openConns struct{ counter }

func (o *openConns) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &closing{Conn: c, before: sync.OnceFunc(o.enter())}, nil
}
