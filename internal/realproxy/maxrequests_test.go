//go:build proxies && unix

package realproxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
)

// counts are how many requests the proxy takes on a connection, and how many the pool sends on
// one. Over HTTP/2 one connection has those of all workers, so that a count is soon reached.
func (v variant) counts() (proxy, pool int) {
	if v.proto == frontproxy.H2 {
		return 500, 400
	}
	return 50, 40
}

// A proxy that closes connections after so many requests makes somebody wait for a dial each
// time. MaxRequestsPerConn, a little below, has the next connection ready before. Either way
// no request is lost, and over HTTP/1.1 there are no more dials than the counts take.
func TestMaxRequestsPerConnSparesRequestsTheDial(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		limit, most := v.counts()
		r := newRigOf(t, v, frontproxy.Settings{Idle: longIdle, Requests: limit}, startOrigin(t))
		told, untold := newCounting(t, r, most), newCounting(t, r, 0)
		stop := make(chan struct{})
		var s stalls
		var wg sync.WaitGroup
		wg.Go(func() { s.watch(stop) })
		begin := time.Now()
		told.send(&wg, stop)
		untold.send(&wg, stop)
		time.AfterFunc(capacityTime()/2, func() { close(stop) })
		wg.Wait()

		executed := r.executions()
		toldOut, untoldOut := judge(told.rec, told.connwise, executed), judge(untold.rec, untold.connwise, executed)
		logTable(t, toldOut, untoldOut)
		waited, excused := told.trace.waitedSince(begin, &s, lateTimer)
		without, _ := untold.trace.waitedSince(begin, &stalls{}, 0)
		t.Logf("waited for a dial: %d (and %d about a stall); without MaxRequestsPerConn %d", waited, excused, without)
		toldOut.wantClean(t)
		untoldOut.wantClean(t)
		if waited > 0 {
			t.Errorf("%d requests waited for a dial", waited)
		}
		if without == 0 {
			t.Error("without MaxRequestsPerConn no request waited for a dial: the limit was not met")
		}
		told.wantDials(t, toldOut, most)
		untold.wantDials(t, untoldOut, limit)
		told.close(t)
		untold.close(t)
	}, direct(overHTTP1(frontproxy.Nginx), overHTTP2(frontproxy.Nginx)))
}

// A counting client has a pool that was warmed for its workers.
type counting struct {
	*connwise
	rig   *rig
	trace *aheadTrace
	rec   *record
}

// newCounting makes one that sends so many requests on a connection; zero: as many as the
// proxy takes.
func newCounting(t *testing.T, r *rig, most int) *counting {
	t.Helper()
	c := &counting{connwise: newConnwise(r), rig: r, rec: &record{client: fmt.Sprintf("connwise, MaxRequestsPerConn %d", most)}}
	c.cfg.MaxRequestsPerConn = most
	c.trace = &aheadTrace{base: c.transport(t)}
	ctx, cancel := context.WithTimeout(t.Context(), requestTime)
	defer cancel()
	if err := c.pools[0].Warm(ctx, r.url, workers); err != nil {
		t.Fatalf("Warm: %v", err)
	}
	return c
}

// send lets workers send, every other request a POST, until stop.
func (c *counting) send(wg *sync.WaitGroup, stop <-chan struct{}) {
	for range workers {
		wg.Go(func() {
			for n := 0; pause(rand.N(2*thinkTime), stop); n++ {
				c.rig.send(c.trace, [...]string{http.MethodGet, http.MethodPost}[n%2], c.rec)
			}
		})
	}
}

// wantDials checks that there were no more dials than it takes if each connection carries
// so many requests: beside those that are open at the end there may be as many that came
// second to a freed one.
func (c *counting) wantDials(t *testing.T, o outcome, each int) {
	t.Helper()
	if most := uint64(o.requests/each + 3*workers); o.dials > most {
		t.Errorf("%s: %d dials for %d requests, want %d at most", o.client, o.dials, o.requests, most)
	}
}
