package scenario

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// A dialHook is Base.DialContext: it counts its calls, and takes its time.
type dialHook struct {
	calls atomic.Int64
	takes time.Duration
	to    string // in place of where it is asked to dial
	fails error  // instead of a connection
}

func (h *dialHook) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	h.calls.Add(1)
	select {
	case <-time.After(h.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if h.fails != nil {
		return nil, h.fails
	}
	return new(net.Dialer).DialContext(ctx, network, cmp.Or(h.to, addr))
}

// Many requests come at once to a host of which nothing is known. Over HTTP/2 they share
// what one of them dials, and over HTTP/1.1 they don't dial one by one.
func TestAColdBurstSharesItsDials(t *testing.T) {
	const burst, handshake, conns, delay = 50, 50 * time.Millisecond, 50, 200 * time.Millisecond
	for _, proto := range []string{"h2", "http/1.1"} {
		t.Run(proto, func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				if proto != "h2" && !r.mode.tls {
					t.Skip("nothing chooses without TLS")
				}
				f := peer.H2Faults{Delay: delay}
				p := r.h2peer(peer.H2Options{TLS: &tls.Config{NextProtos: []string{proto}}, Faults: f})
				h := &dialHook{takes: handshake}
				tr := r.h2pool(pool.Config{MaxConnsPerHost: conns, Base: &http.Transport{DialContext: h.dial}})
				for round := range 2 {
					before, start := h.calls.Load(), time.Now()
					together(burst, func(int) {
						if err := doer(tr.RoundTrip).send(newPatient(t, http.MethodGet, p.url, noBody)); err != nil {
							t.Error(err)
						}
					})
					dials, took := h.calls.Load()-before, time.Since(start)
					if proto == "h2" && dials > 2 || dials > conns {
						t.Errorf("round %d: %d dials", round, dials)
					}
					if took > burst*delay/3 {
						t.Errorf("round %d took %v, one by one it would be %v", round, took, burst*delay)
					}
					tr.CloseIdleConnections()
				}
			})
		})
	}
}

// One request's dial serves all who wait, and belongs to none: who started it and had no
// time for it doesn't take it away from the others.
func TestASharedDialOutlivesItsFirstRequest(t *testing.T) {
	const waiters, handshake, hurry = 50, 200 * time.Millisecond, 20 * time.Millisecond
	eachH2(t, func(t *testing.T, r *rig) {
		p := r.h2peer(peer.H2Options{})
		h := &dialHook{takes: handshake}
		do := doer(r.h2pool(pool.Config{Base: &http.Transport{DialContext: h.dial}}).RoundTrip)
		ctx, cancel := context.WithTimeout(t.Context(), hurry)
		defer cancel()
		first := do.start(newCall(ctx, http.MethodPost, p.url, oneShot))
		if !within(patience, func() bool { return h.calls.Load() == 1 }) {
			t.Fatal("no dial")
		}
		together(waiters, func(i int) {
			if err := do.send(newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])); err != nil {
				t.Error(err)
			}
		})
		err := <-first
		if e := poolError(t, err); !e.Phase.Unprocessed() || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the first: %v", err)
		}
		if h.calls.Load() != 1 || p.conns() != 1 || p.sum().Executed != waiters {
			t.Errorf("%d dials, %d connections, %d executed", h.calls.Load(), p.conns(), p.sum().Executed)
		}
	})
}

// When the shared dial fails everybody hears why, and nobody dials for each of them.
func TestASharedDialsFailureIsEverybodys(t *testing.T) {
	const waiters, handshake = 50, 100 * time.Millisecond
	errDial := errors.New("no route to the proxy")
	eachH2(t, func(t *testing.T, r *rig) {
		p := r.h2peer(peer.H2Options{})
		tr := r.h2pool(pool.Config{})
		doer(tr.RoundTrip).must(t, newPatient(t, http.MethodGet, p.url, noBody)) // in h2 the host is known to share
		h := &dialHook{takes: handshake}
		tr = r.h2pool(pool.Config{Base: &http.Transport{DialContext: h.dial}})
		doer(tr.RoundTrip).must(t, newPatient(t, http.MethodGet, p.url, noBody))
		tr.CloseIdleConnections()
		h.fails = errDial
		together(waiters, func(i int) {
			c := newPatient(t, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])
			err := doer(tr.RoundTrip).send(c)
			if e := wantPhase(t, label("waiter", i), err, pool.PhaseDial); !errors.Is(err, errDial) || e.BodyTouched {
				t.Errorf("waiter %d: touched %v: %v", i, e.BodyTouched, err)
			}
		})
		if n := h.calls.Load() - 1; n > 2 {
			t.Errorf("%d dials for %d waiters", n, waiters)
		}
	})
}

// Custom dial hooks keep HTTP/2: one for the socket leaves ALPN to the pool, and what one
// for TLS has negotiated is obeyed.
func TestDialHooksAndALPN(t *testing.T) {
	raw := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return struct{ net.Conn }{c}, err // a wrapper that hides the socket
	}
	overTLS := func(protos ...string) func(ctx context.Context, network, addr string) (net.Conn, error) {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			conf := clientTLS("127.0.0.1")
			conf.NextProtos = protos
			return (&tls.Dialer{Config: conf}).DialContext(ctx, network, addr)
		}
	}
	for _, tc := range []struct {
		name, want string
		base       *http.Transport
	}{
		{"socket", "h2", &http.Transport{DialContext: raw}},
		{"TLS, both", "h2", &http.Transport{DialTLSContext: overTLS("h2", "http/1.1")}},
		{"TLS, HTTP/2", "h2", &http.Transport{DialTLSContext: overTLS("h2")}},
		{"TLS, HTTP/1.1", "http/1.1", &http.Transport{DialTLSContext: overTLS("http/1.1")}},
		{"TLS, no ALPN", "http/1.1", &http.Transport{DialTLSContext: overTLS()}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, mode{"h2", true})
			p := r.h2peer(peer.H2Options{TLS: &tls.Config{NextProtos: []string{"h2", "http/1.1"}}})
			tr := r.h2pool(pool.Config{Base: tc.base})
			for range 3 {
				doer(tr.RoundTrip).must(t, newPatient(t, http.MethodPost, p.url, oneShot))
			}
			if got := p.conn(0).Proto; got != tc.want || p.conns() != 1 {
				t.Errorf("%d connections, the first speaks %q, want %q", p.conns(), got, tc.want)
			}
		})
	}
}

// A hook that doesn't look at its context has a limit on it anyway, and can't hold a caller.
func TestADialHookThatIgnoresItsContextHoldsNobody(t *testing.T) {
	const hurry = 100 * time.Millisecond
	for _, sp := range speeches {
		for _, secure := range []bool{false, true} { // the hook for TLS
			if secure && !sp.tls {
				continue
			}
			t.Run(label(sp.name, secure), func(t *testing.T) {
				r := newRig(t, sp.mode)
				s := r.site(sp, manners{})
				over := make(chan struct{})
				var unlimited atomic.Bool
				dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
					if _, ok := ctx.Deadline(); !ok {
						unlimited.Store(true)
					}
					<-over
					return nil, ctx.Err()
				}
				base := &http.Transport{DialContext: dial}
				if secure {
					base = &http.Transport{DialTLSContext: dial}
				}
				do := doer(r.client(sp, pool.Config{Base: base}).RoundTrip)
				together(10, func(i int) {
					ctx, cancel := context.WithTimeout(t.Context(), hurry)
					defer cancel()
					start := time.Now()
					err := do.send(newCall(ctx, http.MethodPost, s.url, bodyKinds[i%len(bodyKinds)]))
					if e := poolError(t, err); !e.Phase.Unprocessed() || time.Since(start) > hurry+time.Second {
						t.Errorf("after %v: %v", time.Since(start), err)
					}
				})
				if unlimited.Load() {
					t.Error("a dial had no deadline")
				}
				close(over)
			})
		}
	}
}

// SETTINGS come late. Until then a connection carries few requests, so that a limit that
// turns out low has refused few.
func TestABurstBeforeTheFirstSettingsIsHeldBack(t *testing.T) {
	const burst, late = 100, 100 * time.Millisecond
	eachH2(t, func(t *testing.T, r *rig) {
		f := peer.H2Faults{MaxStreams: 2, SettingsDelay: late}
		p := r.h2peer(peer.H2Options{Faults: f})
		do := doer(r.h2pool(pool.Config{MaxConnsPerHost: 4}).RoundTrip)
		var mu sync.Mutex
		failed := 0
		together(burst, func(int) {
			if err := do.send(newPatient(t, http.MethodPost, p.url, replayable)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if failed++; failed < 5 {
					t.Error(err)
				}
			}
		})
		if s := p.sum(); s.Refused > burst/2 || s.Executed != burst-failed || len(p.twice()) > 0 {
			t.Errorf("%d refused of %d, %d executed; twice: %v", s.Refused, burst, s.Executed, p.twice())
		}
	})
}
