package bench

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestArrivals(t *testing.T) {
	tests := []struct {
		name        string
		rate, burst int
		length      time.Duration
		calls       int
		bursts      []time.Duration
	}{
		{"the default for 20 s", 2000, 500, 20 * time.Second, 40_000 + 20*500, halves(20)},
		{"two bursts", 10, 3, 2 * time.Second, 20 + 2*3, halves(2)},
		{"the second burst is too late", 10, 3, 1500 * time.Millisecond, 15 + 3, halves(1)},
		{"shorter than a second", 100, 50, 200 * time.Millisecond, 20 + 50, []time.Duration{100 * time.Millisecond}},
		{"a burst between two others", 3, 2, time.Second, 3 + 2, halves(1)},
		{"a rate that doesn't divide a second", 7, 1, 3 * time.Second, 21 + 3, halves(3)},
		{"one at the start", 1, 9, time.Second, 1 + 9, halves(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls, last := 0, time.Duration(0)
			var bursts []time.Duration
			for at, n := range arrivals(tt.rate, tt.burst, tt.length) {
				calls += n
				if n == tt.burst {
					bursts = append(bursts, at)
				}
				if at < last || at >= tt.length {
					t.Fatalf("%v comes after %v, in %v", at, last, tt.length)
				}
				last = at
			}
			if tt.burst == 1 {
				bursts = tt.bursts // they look like the others
			}
			if calls != tt.calls || !slices.Equal(bursts, tt.bursts) {
				t.Errorf("%d calls, bursts at %v; want %d, %v", calls, bursts, tt.calls, tt.bursts)
			}
		})
	}
}

// halves are 0.5 s, 1.5 s and so on.
func halves(n int) []time.Duration {
	var ds []time.Duration
	for i := range n {
		ds = append(ds, time.Duration(i)*time.Second+time.Second/2)
	}
	return ds
}

// paced is a client that answers after a while, and notes when it was called.
type paced struct {
	takes time.Duration
	begun time.Time
	mu    sync.Mutex
	at    []time.Duration
}

func (p *paced) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.at = append(p.at, time.Since(p.begun))
	p.mu.Unlock()
	time.Sleep(p.takes)
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Body: http.NoBody}, nil
}

func pacedRig(takes time.Duration, limit int64) (*rig, *paced) {
	p := &paced{takes: takes, begun: time.Now()}
	return &rig{client: p, proto: protos[0], urls: []*url.URL{{Scheme: "http", Host: "h"}}, limit: limit, latency: newLatencies()}, p
}

// TestOpenLoopDoesNotWaitForAnswers checks that calls are made when they are due, while
// all earlier ones are under way.
func TestOpenLoopDoesNotWaitForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := pacedRig(time.Hour, 1000)
		r.openLoop(t.Context(), http.MethodGet, arrivals(10, 4, 2*time.Second))
		var want []time.Duration
		for at, n := range arrivals(10, 4, 2*time.Second) {
			want = append(want, slices.Repeat([]time.Duration{at}, n)...)
		}
		slices.Sort(p.at)
		if !slices.Equal(p.at, want) {
			t.Errorf("calls at %v, want %v", p.at, want)
		}
	})
}

// TestOpenLoopCountsFromWhenACallWasDue lets more calls be due than may be under way:
// those that wait for others have waited since they were due.
func TestOpenLoopCountsFromWhenACallWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := pacedRig(10*time.Second, 1e6)
		r.openLoop(t.Context(), http.MethodGet, arrivals(mostOpen/4, mostOpen, time.Second))
		n := mostOpen + mostOpen/4
		latency := r.latency.sum()
		if len(p.at) != n || latency.TotalCount() != int64(n) {
			t.Fatalf("%d calls and %d answers, want %d", len(p.at), latency.TotalCount(), n)
		}
		// A tenth of the calls came before the burst; a fifth, half of the burst's rest
		// and all that follow, have to wait until the first ones are done.
		if early := latency.ValueAtPercentile(50); time.Duration(early).Round(100*time.Millisecond) != 10*time.Second {
			t.Errorf("half of the calls took up to %v, want 10s", time.Duration(early))
		}
		if late := time.Duration(latency.Max()); late < 19*time.Second {
			t.Errorf("the slowest call took %v, want more than 19s: one due in the first second is made in the eleventh or later", late)
		}
	})
}

func TestOpenLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := pacedRig(0, 25)
		r.openLoop(t.Context(), http.MethodGet, arrivals(10, 4, time.Hour))
		if len(p.at) != 25 {
			t.Errorf("%d calls, want the limit, 25", len(p.at))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, p = pacedRig(0, 1e6)
		r.openLoop(ctx, http.MethodGet, arrivals(1, 1, time.Hour))
		if d := time.Since(p.begun); d != time.Minute {
			t.Errorf("ended after %v, want a minute", d)
		}
	})
}
