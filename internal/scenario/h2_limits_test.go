package scenario

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

func maxStreams(n uint32) http2.Setting {
	return http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n}
}

// A cancelled stream's slot is free when its RST_STREAM is on the wire, and not before:
// the server would refuse the next.
func TestACancelledStreamsSlotIsFreeBehindItsReset(t *testing.T) {
	const rounds = 500
	eachH2(t, func(t *testing.T, r *rig) {
		held := make(chan *peer.H2Request, 1)
		p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
			_ = c.Settings(maxStreams(1))
			for q, err := c.Request(); err == nil; q, err = c.Request() {
				if q.Field(":method") == http.MethodPut {
					held <- q
				} else if c.Answer(q) != nil {
					return
				}
			}
		}})
		do := doer(r.h2pool(pool.Config{MaxConnsPerHost: 1}).RoundTrip)
		do.must(t, newPatient(t, http.MethodGet, p.url, noBody)) // SETTINGS have come with it
		for i := range rounds {
			ctx, cancel := context.WithCancel(t.Context())
			first := do.start(newCall(ctx, http.MethodPut, p.url, noBody))
			<-held
			cancel()
			if err := do.send(newPatient(t, http.MethodGet, p.url, noBody)); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			if err := <-first; !errors.Is(err, context.Canceled) {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		if s := p.sum(); s.StreamPeak != 1 || s.Streams != 2*rounds+1 || s.Cancelled != rounds || p.conns() != 1 {
			t.Errorf("%d connections: %+v", p.conns(), s)
		}
	})
}

// A limit of one connection is that of one connection, also for a cold burst and
// whatever the protocol turns out to be.
func TestALimitOfOneConnectionHoldsForABurst(t *testing.T) {
	const burst = 300
	peers := map[string]peer.H2Options{
		"250 streams": {Faults: peer.H2Faults{MaxStreams: 250}},
		"1 stream":    {Faults: peer.H2Faults{MaxStreams: 1}},
		"HTTP/1.1":    {TLS: &tls.Config{NextProtos: []string{"http/1.1"}}},
	}
	for name, o := range peers {
		t.Run(name, func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				if o.TLS != nil && !r.mode.tls {
					t.Skip("nothing chooses without TLS")
				}
				p := r.h2peer(o)
				do := doer(r.h2pool(pool.Config{MaxConnsPerHost: 1}).RoundTrip)
				together(burst, func(int) {
					if err := do.send(newPatient(t, http.MethodGet, p.url, noBody)); err != nil {
						t.Error(err)
					}
				})
				if s := p.sum(); p.conns() != 1 || s.Executed != burst || s.Refused > 0 {
					t.Errorf("%d connections, %+v", p.conns(), s)
				}
			})
		})
	}
}

// At the server's limit of streams requests wait, or go to further connections, and use
// all of what is allowed and no more.
func TestAllStreamsOfAllConnectionsAreUsed(t *testing.T) {
	const burst, streams, delay = 100, 10, 100 * time.Millisecond
	for name, conns := range map[string]int{"one connection": 1, "ten connections": 10} {
		t.Run(name, func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				f := peer.H2Faults{MaxStreams: streams, Delay: delay}
				p := r.h2peer(peer.H2Options{Faults: f})
				do := doer(r.h2pool(pool.Config{MaxConnsPerHost: conns}).RoundTrip)
				start := time.Now()
				together(burst, func(int) {
					if err := do.send(newPatient(t, http.MethodGet, p.url, noBody)); err != nil {
						t.Error(err)
					}
				})
				took, least := time.Since(start), delay*burst/time.Duration(streams*conns)
				if took < least || took > 2*least+2*time.Second {
					t.Errorf("it took %v, want about %v", took, least)
				}
				s := p.sum()
				if p.conns() > conns || s.StreamPeak != streams || s.Refused > 0 || s.Executed != burst {
					t.Errorf("%d connections, %+v", p.conns(), s)
				}
			})
		})
	}
}

// The server takes its limit down to nothing for a while: streams that are open go on,
// new ones wait without effort, and none is refused.
func TestTheStreamLimitGoesToZeroAndBack(t *testing.T) {
	const pausing = 300 * time.Millisecond
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven(maxStreams(5))
		tr := r.h2pool(pool.Config{MaxConnsPerHost: 1})
		do := doer(tr.RoundTrip)
		calls, held := fill(t, do, p, asks, 3)
		if err := held[0].Settings(maxStreams(0)); err != nil {
			t.Fatal(err)
		}
		if err := held[0].Ping(false, [8]byte{}); err != nil {
			t.Fatal(err)
		}
		held[2].answer(t) // its caller has the new limit
		all(t, calls[2])
		for i := range 4 {
			calls = append(calls, do.start(newPatient(t, http.MethodPost, p.url, replayable)))
			if !within(patience, func() bool { return gauges(tr).Waiting == i+1 }) {
				t.Fatalf("%+v with %d waiting", gauges(tr), i+1)
			}
		}
		before := cpuTime(t)
		pause(pausing)
		if used := cpuTime(t) - before; used > pausing/2 {
			t.Errorf("waiting for %v took %v of CPU time", pausing, used)
		}
		asks.none(t)
		held[0].answer(t)
		held[1].answer(t)
		all(t, calls[:2]...)
		asks.none(t)
		if err := held[0].Settings(maxStreams(5)); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			asks.next(t).answer(t)
		}
		all(t, calls[3:]...)
		if s := p.sum(); p.conns() != 1 || s.Refused > 0 || s.Executed != 7 {
			t.Errorf("%d connections, %+v", p.conns(), s)
		}
	})
}

// The limit falls below what is open: nothing new until enough has ended.
func TestTheStreamLimitFallsBelowTheOpenStreams(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven(maxStreams(5))
		tr := r.h2pool(pool.Config{MaxConnsPerHost: 1})
		do := doer(tr.RoundTrip)
		calls, held := fill(t, do, p, asks, 5)
		if err := held[0].Settings(maxStreams(2)); err != nil {
			t.Fatal(err)
		}
		held[0].answer(t) // its caller has the new limit
		all(t, calls[0])
		late := do.start(newPatient(t, http.MethodPost, p.url, oneShot))
		for i := 1; i <= 2; i++ { // down to two open, which is still all that is allowed
			held[i].answer(t)
			all(t, calls[i])
			asks.none(t)
		}
		held[3].answer(t)
		asks.next(t).answer(t)
		held[4].answer(t)
		all(t, calls[3], calls[4], late)
		if p.conns() != 1 {
			t.Errorf("%d connections", p.conns())
		}
	})
}

// Unless there may be more connections: then nobody waits for the first.
func TestALimitOfZeroSendsRequestsElsewhere(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		p, asks := r.h2driven(maxStreams(1))
		do := doer(r.h2pool(pool.Config{}).RoundTrip)
		calls, held := fill(t, do, p, asks, 1)
		more, others := fill(t, do, p, asks, 3)
		for i, a := range append(held, others...) {
			if a.Num != i {
				t.Errorf("request %d came on connection %d", i, a.Num)
			}
			a.answer(t)
		}
		all(t, append(calls, more...)...)
	})
}
