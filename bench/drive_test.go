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
	return &rig{client: p, proto: protos[0], urls: []*url.URL{{Scheme: "http", Host: "h"}}, limit: limit, length: time.Minute, latency: newLatencies()}, p
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

// TestEachCallerMakesACall on a machine that came to it when the round was over: the row would be
// of nothing otherwise.
func TestEachCallerMakesACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := pacedRig(0, 100)
		r.callers, r.end = 3, time.Now()
		if r.busy(t.Context(), http.MethodGet); len(p.at) != 3 {
			t.Errorf("%d calls of 3 callers, want one each", len(p.at))
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

// TestOpenLoopGivesUpWhatIsLongOverdue has more due than can ever be made.
func TestOpenLoopGivesUpWhatIsLongOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := pacedRig(time.Hour, 1e6)
		r.length = time.Second
		r.open(t.Context(), load("bursts:1000+10000/1s").arrivals(0, 0, r.length), func(c *caller, d turn) { c.callDue(t.Context(), http.MethodGet, d.due) })
		// The first one that has to wait gets its turn when an hour is over.
		if len(p.at) != mostOpen+1 || r.unmade != 1000-1 {
			t.Errorf("%d calls made and %d not, of 11,000; want all but 999 made", len(p.at), r.unmade)
		}
	})
}

// TestDriveKeepsToTheLoad checks when calls are made and by which method, and that a
// closed loop's callers wait for answers.
func TestDriveKeepsToTheLoad(t *testing.T) {
	const ms = time.Millisecond
	recorded := Load{kind: "replay", log: []arrival{{0, 1, ""}, {5 * ms, 1, "POST"}, {70 * ms, 1, "GET"}, {200 * ms, 1, ""}}}
	for _, tt := range []struct {
		name  string
		load  Load
		want  []time.Duration
		posts int
	}{
		{"closed", load("closed"), []time.Duration{0, 0, 40 * ms, 40 * ms, 80 * ms, 80 * ms}, 6},
		{"constant", load("constant:40"), []time.Duration{0, 25 * ms, 50 * ms, 75 * ms}, 4},
		{"bursts", load("bursts:10+3/1s"), []time.Duration{0, 50 * ms, 50 * ms, 50 * ms}, 4},
		{"replay", recorded, []time.Duration{0, 5 * ms, 70 * ms}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, p := pacedRig(40*ms, 1000)
			r.plan, r.load, r.callers, r.length = &plan{}, tt.load, 2, 100*ms
			r.end = time.Now().Add(r.length)
			r.busy(t.Context(), http.MethodPost)
			slices.Sort(p.at)
			if !slices.Equal(p.at, tt.want) || int(r.ids.unsafe.Load()) != tt.posts {
				t.Errorf("%s: calls at %v, %d by POST; want %v, %d", tt.name, p.at, r.ids.unsafe.Load(), tt.want, tt.posts)
			}
			if h := r.latency.sum(); h.TotalCount() != int64(len(tt.want)) || h.Max() > int64(41*ms) || h.Min() < int64(39*ms) {
				t.Errorf("%s: latencies of %d calls, %v to %v; want 40ms", tt.name, h.TotalCount(), time.Duration(h.Min()), time.Duration(h.Max()))
			}
		})
	}
}

// TestStallShowsInAllThatWasDue stops the server for a second. A closed loop of one caller
// would see one slow call.
func TestStallShowsInAllThatWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := pacedRig(0, 1000)
		begun := time.Now()
		r.client = roundTripper(func(req *http.Request) (*http.Response, error) {
			if at := time.Since(begun); at >= time.Second && at < 2*time.Second {
				time.Sleep(2*time.Second - at)
			}
			return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Body: http.NoBody}, nil
		})
		r.plan, r.load, r.length = &plan{}, load("constant:100"), 4*time.Second
		r.busy(t.Context(), http.MethodGet)
		h := r.latency.sum()
		if p := time.Duration(h.ValueAtPercentile(87.5)); h.TotalCount() != 400 || p < 450*time.Millisecond || p > 550*time.Millisecond {
			t.Errorf("%d calls, 87.5 %% within %v; want 400, and a quarter of them to wait for 0 to 1s", h.TotalCount(), p)
		}
	})
}
