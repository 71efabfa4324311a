package bench

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// TestCancelJudgesClients runs clients that do with cancelled calls what they shouldn't.
func TestCancelJudgesClients(t *testing.T) {
	// twice sends what was cancelled once more, as a client does that takes any error for
	// one of the network.
	twice := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(req)
			if errors.Is(err, context.Canceled) && req.GetBody != nil {
				again := req.Clone(context.WithoutCancel(req.Context()))
				again.Body, _ = req.GetBody()
				if resp, err := rt.RoundTrip(again); err == nil {
					_ = resp.Body.Close()
				}
			}
			return resp, err
		}
	}
	// deaf doesn't hear of it.
	deaf := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			return rt.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
		}
	}
	// touchy fails other calls.
	touchy := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(req)
			if err == nil && req.Method == http.MethodPost {
				_ = resp.Body.Close()
				return nil, errors.New("somebody else's trouble")
			}
			return resp, err
		}
	}
	o := smoke()
	o.Scenarios, o.Protos, o.Requests, o.Duration = []string{"cancel"}, []string{"h1"}, 300, time.Minute
	o.Clients = []Client{wrapped("twice", twice), wrapped("deaf", deaf), wrapped("touchy", touchy), Connwise(), NetHTTP()}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.Requests != 300 || *r.Lost != 0 || *r.Damaged != 0 || *r.Avoidable != 0 {
			t.Errorf("%s: %d requests, %d lost, %d damaged, %d avoidable; want 300 and none", r.Client, r.Requests, *r.Lost, *r.Damaged, *r.Avoidable)
		}
		if few := *r.Cancelled < 30; few != (r.Client == "deaf") || *r.Cancelled > 200 {
			t.Errorf("%s: %d of %d cancelled", r.Client, *r.Cancelled, r.Requests)
		}
		if (*r.ExecutedTwice > 0) != (r.Client == "twice") || (r.Failed > 0) != (r.Client == "touchy") {
			t.Errorf("%s: %d executed twice, %d failed; first: %s", r.Client, *r.ExecutedTwice, r.Failed, r.FirstError)
		}
		if r.Client == "connwise" && *r.LeftOpen != 0 {
			t.Errorf("%d connections left open", *r.LeftOpen)
		}
	}
}

// TestCancelLeavesNothing looks at goroutines and connections behind a storm, while the
// client is still open.
func TestCancelLeavesNothing(t *testing.T) {
	l := labOf(t, Options{Scenarios: []string{"cancel"}, Workers: 16, Requests: 400, Duration: time.Minute})
	for _, q := range protos {
		r, err := l.newRig(row{scenario: cancelStorm, proto: q}, Connwise(), l.share(0))
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.NumGoroutine()
		if err := storm(t.Context(), r); err != nil || *r.leftOpen != 0 {
			t.Errorf("%s: %d connections left open, %v", q.name, *r.leftOpen, err)
		}
		const own = 3 // the pool's, for as long as it's open
		now := 0
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); sleep(t.Context(), time.Millisecond) {
			if now = runtime.NumGoroutine(); now <= before+own {
				break
			}
		}
		if now > before+own {
			t.Errorf("%s: %d goroutines, %d before the storm", q.name, now, before)
		}
		if err := r.closeClients(); err != nil {
			t.Error(err)
		}
		if _, err := r.closePeer(); err != nil {
			t.Error(err)
		}
	}
}

// TestLeftCountsConnections has a client that keeps one connection in spite of all.
func TestLeftCountsConnections(t *testing.T) {
	l := labOf(t, Options{Scenarios: []string{"cancel"}})
	r, err := l.newRig(row{scenario: cancelStorm, proto: protos[0]}, Client{Name: "x", New: func(Setup) (http.RoundTripper, error) { return roundTripper(nil), nil }}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.left(t.Context(), time.Minute); n != nil || err != nil {
		t.Errorf("a client that can't close idle connections: %v, %v; want nothing to be said", n, err)
	}
	h := &hoarder{}
	r.client, r.clients = h, []any{h}
	if h.nc, err = net.Dial("tcp", r.peer.addr()); err != nil {
		t.Fatal(err)
	}
	for accepted := 0; accepted == 0; {
		n, err := r.count()
		if err != nil {
			t.Fatal(err)
		}
		accepted = n.Accepted
	}
	if n, err := r.left(t.Context(), time.Millisecond); err != nil || *n != 1 {
		t.Errorf("%v left, %v; want 1", *n, err)
	}
	_ = h.nc.Close()
	if n, err := r.left(t.Context(), time.Minute); err != nil || *n != 0 {
		t.Errorf("%v left, %v; want 0", *n, err)
	}
	if _, err := r.closePeer(); err != nil {
		t.Error(err)
	}
}
