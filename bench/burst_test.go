package bench

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// counted is a client that counts how many of it were made.
func counted(c Client, made *atomic.Int64) Client {
	build := c.New
	c.New = func(s Setup) (http.RoundTripper, error) {
		made.Add(1)
		return build(s)
	}
	return c
}

// TestEachWaveIsCold checks that a wave finds no connection and no client of the one
// before: with one connection at a time there is one for each wave.
func TestEachWaveIsCold(t *testing.T) {
	var made atomic.Int64
	o := smoke()
	o.Scenarios, o.Protos, o.Requests, o.Duration = []string{"burst"}, []string{"h1", "h1s"}, 3*16+5, time.Minute
	o.Clients, o.MaxConns, o.Delay = []Client{counted(NetHTTP(), &made)}, 1, 2*time.Millisecond
	o.Burst = 16
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.Requests != 53 || *r.Waves != 3 || *r.WaveDials != 1 || *r.Dials != 4 || *r.PeakConns != 1 {
			t.Errorf("%s: %d requests, %d full waves, %d dials in the middle one, %d in all, %d open at most; want 53, 3, 1, 4, 1",
				r.Proto, r.Requests, *r.Waves, *r.WaveDials, *r.Dials, *r.PeakConns)
		}
		if *r.WaveP50 < 8*2000 || *r.WaveP99 < 15*2000 {
			t.Errorf("%s: a wave's p50 %v and p99 %v us, one call after the other with a peer that takes 2 ms", r.Proto, *r.WaveP50, *r.WaveP99)
		}
	}
	if n := made.Load(); n < 2*4 {
		t.Errorf("%d clients for 8 waves", n)
	}
}

func TestDelayIsThePeers(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos, o.Requests, o.Delay = []string{"burst", "burst-warm"}, []string{"h1", "h2c"}, 20, 60*time.Millisecond
	o.Clients = []Client{NetHTTP()}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if *r.P50 < 60_000 {
			t.Errorf("%s %s %s: p50 %v us, with a peer that takes 60 ms", r.Scenario, r.Proto, r.Client, *r.P50)
		}
	}
}

// TestMaxConnsIsKept checks that the clients are told of the limit, and connwise of the
// longest wait.
func TestMaxConnsIsKept(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos, o.MaxConns = []string{"burst", "burst-warm", "burst-limit", "queue"}, []string{"h1"}, 2
	o.Burst, o.Rate, o.Requests, o.MaxWait = 12, 40, 36, time.Minute
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if *r.PeakConns > 2 || r.Failed != 0 {
			t.Errorf("%s %s: %d connections at a time, %d failed (%s); want 2 at most and none", r.Scenario, r.Client, *r.PeakConns, r.Failed, r.FirstError)
		}
	}
	o.Scenarios, o.Clients, o.Rate, o.MaxWait = []string{"burst"}, []Client{Connwise()}, 0, time.Millisecond
	if rep, err = Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if r := rep.Results[0]; r.Failed == 0 || r.Failed == r.Requests || *r.Avoidable != r.Failed || !strings.Contains(r.FirstError, pool.ErrWaitTimeout.Error()) {
		t.Errorf("%d of %d failed, %d avoidable, first: %s; want some by the longest wait", r.Failed, r.Requests, *r.Avoidable, r.FirstError)
	}
}

// hoarder is a client that keeps a connection open which isn't idle.
type hoarder struct {
	http.RoundTripper
	nc net.Conn
}

func (h *hoarder) CloseIdleConnections() {}
func (h *hoarder) Close() error          { return h.nc.Close() }

// TestSettleWaitsForTheLastConnection has a connection left open after a wave, and
// another one opened meanwhile, as by a dial that came too late for it.
func TestSettleWaitsForTheLastConnection(t *testing.T) {
	l := labOf(t, Options{Scenarios: []string{"burst"}})
	for _, q := range []proto{protoNamed("h1"), protoNamed("h2c")} {
		r, err := l.newRig(row{scenario: l.rows[0].scenario, proto: q}, Client{Name: "x", New: func(Setup) (http.RoundTripper, error) { return roundTripper(nil), nil }}, 1)
		if err != nil {
			t.Fatal(err)
		}
		h := &hoarder{}
		r.client, r.clients = h, []any{h}
		if h.nc, err = net.Dial("tcp", r.peer.addr()); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			n, err := r.settle(t.Context())
			if err == nil && (n.Accepted != 2 || n.Open != 0) {
				err = fmt.Errorf("settled with %+v", n)
			}
			done <- err
		}()
		late, err := net.Dial("tcp", r.peer.addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = h.nc.Close()
		select {
		case err := <-done:
			_ = late.Close()
			t.Fatalf("%s: settled while a connection was open (%v)", q.name, err)
		case <-time.After(5 * settlePoll):
		}
		_ = late.Close()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", q.name, err)
		}
		if _, err := r.closePeer(); err != nil {
			t.Error(err)
		}
	}
}

func TestMedian(t *testing.T) {
	tests := []struct {
		xs   []float64
		want float64 // 0: none
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 9, 2}, 4}}
	for _, tt := range tests {
		ws := []wave{{}} // one without
		for _, x := range tt.xs {
			ws = append(ws, wave{p99: &x})
		}
		in := slices.Clone(ws)
		got := median(ws, func(w wave) *float64 { return w.p99 })
		if (got == nil) != (tt.want == 0) || got != nil && *got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.xs, got, tt.want)
		}
		if !slices.Equal(in, ws) {
			t.Errorf("median changed the order of its waves")
		}
	}
}
