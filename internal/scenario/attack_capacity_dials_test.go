package scenario

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
	"example.com/connwise/pool"
)

// A far is a server in memory whose dials take as long as a test wants.
type far struct {
	dials   func(n int) time.Duration // what the n-th dial takes, from 1
	answers time.Duration             // what an answer takes
	once    bool                      // each connection carries one request

	mu sync.Mutex
	n  int
}

func (f *far) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	f.mu.Lock()
	f.n++
	takes := f.dials(f.n)
	f.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	client, server := fakenet.Pipe()
	go f.serve(server)
	return client, nil
}

func (f *far) serve(c net.Conn) {
	defer c.Close()
	last := ""
	if f.once {
		last = "Connection: close\r\n"
	}
	for br := bufio.NewReader(c); ; {
		if _, err := http.ReadRequest(br); err != nil {
			return
		}
		time.Sleep(f.answers)
		if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\n\r\nok", last); err != nil || f.once {
			return
		}
	}
}

// get sends a request to f and reads its answer.
func (f *far) get(t *testing.T, tr *pool.Transport) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://far.test/", nil)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// toFar runs test in a bubble.
func toFar(t *testing.T, f *far, cfg pool.Config, test func(*testing.T, *pool.Transport)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Base = &http.Transport{DialContext: f.dial}
		tr, err := pool.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		test(t, tr)
		tr.Close()
		synctest.Wait()
		checkBooks(t, tr)
	})
}

// Every tenth dial to a host hangs, as where one of ten backends is dead that a balancer leads
// to. That costs a little of what the host can do, and not nearly all; and it costs nobody the
// time that such a dial takes to fail.
func TestAttackSomeDialsHang(t *testing.T) {
	const callers, each = 40, 50
	for _, limit := range []int{0, 20} {
		f := &far{once: true, dials: func(n int) time.Duration {
			if n%10 == 0 {
				return time.Hour
			}
			return 10 * time.Millisecond
		}}
		toFar(t, f, pool.Config{MaxConnsPerHost: limit}, func(t *testing.T, tr *pool.Transport) {
			start := time.Now()
			together(callers, func(int) {
				for range each {
					f.get(t, tr)
				}
			})
			// 2000 dials of which one in nine hangs for a second, on as many connections as there
			// are callers, or half of that.
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("limit %d: %d requests took %v", limit, callers*each, took)
			}
			if n := tr.Stats().Total.Dials; n > callers*each*5/4 {
				t.Errorf("limit %d: %d dials for %d requests", limit, n, callers*each)
			}
		})
	}
}

// The way to a host becomes ten times as long. Bursts find as many connections after a while as
// before, though each dial is later than all that were known.
func TestAttackWayBecomesLonger(t *testing.T) {
	const burst, before, after = 500, 20 * time.Millisecond, 200 * time.Millisecond
	takes := before
	f := &far{answers: 2 * time.Second, dials: func(int) time.Duration { return takes }}
	toFar(t, f, pool.Config{}, func(t *testing.T, tr *pool.Transport) {
		wave := func() time.Duration {
			start := time.Now()
			together(burst, func(int) { f.get(t, tr) })
			took := time.Since(start) - f.answers
			tr.CloseIdleConnections()
			return took
		}
		if took := wave(); took > 10*before {
			t.Errorf("a cold burst took %v more than an answer", took)
		}
		takes = after
		waves := make([]time.Duration, 4)
		for i := range waves {
			waves[i] = wave()
		}
		if last := waves[len(waves)-1]; last > 6*after {
			t.Errorf("bursts took so much more than an answer: %v, want at most %v in the end", waves, 6*after)
		}
	})
}
