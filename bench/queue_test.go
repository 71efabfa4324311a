package bench

import (
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOvertaken(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name  string
		calls [][2]time.Duration // due, done
		want  int64
	}{
		{"none", nil, 0},
		{"in turn", [][2]time.Duration{{0, 20 * ms}, {20 * ms, 40 * ms}, {40 * ms, 60 * ms}}, 0},
		{"due at the same time", [][2]time.Duration{{0, 100 * ms}, {0, 20 * ms}}, 0},
		{"due soon after each other", [][2]time.Duration{{0, 100 * ms}, {19 * ms, 40 * ms}}, 0},
		{"done soon after each other", [][2]time.Duration{{0, 100 * ms}, {50 * ms, 81 * ms}}, 0},
		{"one by one", [][2]time.Duration{{0, 100 * ms}, {20 * ms, 80 * ms}}, 1},
		{"one by many", [][2]time.Duration{{0, 200 * ms}, {20 * ms, 80 * ms}, {40 * ms, 90 * ms}, {60 * ms, 100 * ms}}, 1},
		{"many by one, noted in another order", [][2]time.Duration{{60 * ms, 80 * ms}, {20 * ms, 210 * ms}, {0, 200 * ms}, {50 * ms, 220 * ms}}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, start := lane{patience: 20 * ms}, time.Now()
			for _, c := range tt.calls {
				l.add(start.Add(c[0]), start.Add(c[1]))
			}
			if got := l.overtaken(); got != tt.want {
				t.Errorf("%d overtaken, want %d", got, tt.want)
			}
		})
	}
}

// A counter serves one call at a time, and takes from those that wait the first or the last.
type counter struct {
	takes time.Duration
	last  bool

	mu   sync.Mutex
	busy bool
	wait []chan struct{}
}

func (c *counter) RoundTrip(*http.Request) (*http.Response, error) {
	c.mu.Lock()
	if c.busy {
		turn := make(chan struct{})
		c.wait = append(c.wait, turn)
		c.mu.Unlock()
		<-turn
	} else {
		c.busy = true
		c.mu.Unlock()
	}
	time.Sleep(c.takes)
	c.next()
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Body: http.NoBody}, nil
}

func (c *counter) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.wait)
	switch {
	case n == 0:
		c.busy = false
	case c.last:
		close(c.wait[n-1])
		c.wait = c.wait[:n-1]
	default:
		close(c.wait[0])
		c.wait = c.wait[1:]
	}
}

// TestQueueTellsOrder has a server with room for one, and clients that are fair and not.
func TestQueueTellsOrder(t *testing.T) {
	for _, unfair := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const delay = 100 * time.Millisecond
			r := &rig{
				client: &counter{takes: delay, last: unfair}, proto: protos[0], urls: []*url.URL{{Scheme: "http", Host: "h"}},
				limit: 1 << 20, latency: newLatencies(), length: 4 * time.Second,
				plan: &plan{Options: Options{MaxConns: 1}, own: Options{Delay: delay}},
			}
			if err := queued(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			tl := tally{latency: newHistogram()}
			tl.add(r, nil)
			res := tl.result(row{scenario: queue, proto: protos[0]}, "x")
			if unfair != (*res.Overtaken > 0) || res.Failed > 0 {
				t.Errorf("unfair %v: %d overtaken, %d failed", unfair, *res.Overtaken, res.Failed)
			}
			// 7 calls and bursts of 2 in a second, of which 10 have room: a burst waits for
			// no more than 3 others in turn.
			if !unfair && (*res.WaitP99 < 90_000 || *res.WaitP99 > 310_000 || *res.WaitP99 != *res.P99-100_000) {
				t.Errorf("waits up to %v us, latencies to %v", *res.WaitP99, *res.P99)
			}
		})
	}
}

// TestRoomIsKept checks which limits clients and peer are told, in each scenario that has one.
func TestRoomIsKept(t *testing.T) {
	for _, s := range []scenario{queue, burstLimit} {
		for _, tt := range []struct {
			proto             string
			o                 Options
			conns, streams, n int
			wait              time.Duration
		}{
			{"h1s", Options{}, s.room(&plan{}), 0, s.room(&plan{}), 5 * time.Second},
			{"h2c", Options{}, 1, s.room(&plan{}), s.room(&plan{}), 5 * time.Second},
			{"h1", Options{MaxConns: 3, MaxWait: time.Minute}, 3, 0, 3, time.Minute},
			{"h2", Options{MaxConns: 3}, 1, 3, 3, 5 * time.Second},
		} {
			tt.o.Scenarios = []string{s.name}
			p, err := tt.o.plan()
			if err != nil {
				t.Fatal(err)
			}
			r, setup, f := &rig{proto: protoNamed(tt.proto), ready: 100}, Setup{MaxConns: p.MaxConns, MaxWait: p.MaxWait}, s.faults(p)
			r.limitRoom(s.room(p), &setup, &f)
			if setup.MaxConns != tt.conns || f.streams != tt.streams || setup.MaxWait != tt.wait || setup.Ready != tt.conns || s.room(p) != tt.n {
				t.Errorf("%s %s: room for %d, %+v, %d streams; want %+v", s.name, tt.proto, s.room(p), setup, f.streams, tt)
			}
		}
	}
}

// TestQueueFailsWhatWaitsTooLong runs it with a longest wait that is too short for a burst.
func TestQueueFailsWhatWaitsTooLong(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos, o.Clients = []string{"queue"}, []string{"h1", "h2c"}, []Client{Connwise()}
	o.MaxConns, o.MaxWait, o.Delay = 2, 30*time.Millisecond, 10*time.Millisecond
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.Failed == 0 || *r.Avoidable != r.Failed || r.Succeeded() == 0 || *r.PeakConns > 2 {
			t.Errorf("%s: %d of %d failed, %d avoidable, over %d connections; want some by the longest wait", r.Proto, r.Failed, r.Requests, *r.Avoidable, *r.PeakConns)
		}
	}
}
