//go:build proxies && unix

package realproxy

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/pool"
)

// Close ends requests in whatever they are doing. Whoever holds a connection then has to
// give it up, and what is counted has to add up.
func TestCloseUnderLoadLeavesNothing(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, longIdle)
		ours := newConnwise(r)
		rec := &record{client: "connwise"}
		rt := ours.transport(t)
		var wg sync.WaitGroup
		warm := make(chan struct{}, workers)
		for range workers {
			wg.Go(func() { r.untilClosed(t, rt, rec, warm) })
		}
		for range workers {
			<-warm
		}
		ours.pools[0].Close()
		wg.Wait()
		ours.close(t)
		o := judge(rec, ours, r.executions())
		logTable(t, o)
		o.wantNeverTwice(t)
		if !slices.ContainsFunc(o.failures(), underWay) {
			t.Error("Close ended no request that was under way")
		}
	}, overHTTP1(frontproxy.Nginx, frontproxy.HAProxy), overHTTP2(frontproxy.Nginx, frontproxy.HAProxy))
}

// underWay tells whether a byte of the request had left when it failed.
func underWay(a attempt) bool {
	e, ok := errors.AsType[*pool.Error](a.err)
	return ok && e.Sent > 0
}

// untilClosed sends POSTs until one fails, and checks that it failed because the
// transport was closed. It sends to warm, which has room, after the third.
func (r *rig) untilClosed(t *testing.T, rt http.RoundTripper, rec *record, warm chan<- struct{}) {
	for n := 1; ; n++ {
		if err := r.send(rt, http.MethodPost, rec); err != nil {
			if !errors.Is(err, pool.ErrClosed) {
				t.Errorf("request %d of a worker: %v, want ErrClosed", n, err)
			}
			if n <= 3 {
				warm <- struct{}{}
			}
			return
		}
		if n == 3 {
			warm <- struct{}{}
		}
	}
}

// checkSilent checks a closed pool with no request under way: no connection is left, and
// every one that was opened was closed for one reason.
func checkSilent(t *testing.T, p *pool.Transport) {
	t.Helper()
	s := silentStats(p)
	for _, h := range s.Hosts {
		if h.Open != 0 || h.Idle != 0 || h.InUse != 0 || h.Dialing != 0 || h.Waiting != 0 {
			t.Errorf("%s after Close: %d open (%d idle, %d in use), %d dialing, %d waiting; want none",
				h.Host, h.Open, h.Idle, h.InUse, h.Dialing, h.Waiting)
		}
	}
	if s.Total.Opened == 0 || s.Total.Opened != s.Total.Closed {
		t.Errorf("opened %d connections, closed %d", s.Total.Opened, s.Total.Closed)
	}
	if s.Total.Dials != s.Total.Opened+s.Total.DialsFailed {
		t.Errorf("%d dials, but %d opened and %d failed", s.Total.Dials, s.Total.Opened, s.Total.DialsFailed)
	}
	var reasons uint64
	for _, n := range s.Total.ClosedBy {
		reasons += n
	}
	if reasons != s.Total.Closed {
		t.Errorf("closed %d connections, but the reasons count %d: %v", s.Total.Closed, reasons, s.Total.ClosedBy)
	}
}

// silentStats waits for connections that the pool is closing for another reason just now,
// on goroutines of its own. There is no event for it.
func silentStats(p *pool.Transport) pool.Stats {
	for deadline := time.Now().Add(frontproxy.StartTime); ; pause(time.Millisecond, nil) {
		s := p.Stats()
		busy := slices.ContainsFunc(s.Hosts, func(h pool.HostStats) bool { return h.Open > 0 || h.Dialing > 0 })
		if !busy || time.Now().After(deadline) {
			return s
		}
	}
}
