//go:build proxies && unix

package realproxy

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

const (
	kills     = 6
	killEvery = 600 * time.Millisecond
)

// A proxy that is killed cuts requests that the origin executes all the same. Here a phase
// that claims too much shows: what is said to be unprocessed must not have been executed,
// and what retry sends again on that word must not be executed twice.
func TestKilledProxyLeavesNoPOSTExecutedTwice(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v)
		ours, std := newConnwise(r), newNetHTTP(r)
		oursGET, oursPOST := &record{client: "connwise GET"}, &record{client: "connwise POST"}
		stdGET, stdPOST := &record{client: "net/http GET"}, &record{client: "net/http POST"}

		stop := make(chan struct{})
		var wg sync.WaitGroup
		oursRT, stdRT := ours.transport(t), std.transport(t)
		for range workers {
			wg.Go(func() { r.mixed(oursRT, oursGET, oursPOST, stop) })
			wg.Go(func() { r.mixed(stdRT, stdGET, stdPOST, stop) })
		}
		err := r.killOften()
		close(stop)
		wg.Wait()
		if err != nil {
			t.Fatalf("restart: %v", err)
		}

		executed := r.executions()
		get, post := judge(oursGET, ours, executed), judge(oursPOST, ours, executed)
		theirs := judge(stdPOST, std, executed)
		logTable(t, get, post, judge(stdGET, std, executed), theirs)
		post.wantNeverTwice(t)
		theirs.wantNeverTwice(t)
		for _, a := range append(get.failures(), post.failures()...) {
			e, ok := errors.AsType[*pool.Error](a.err)
			switch {
			case !ok:
				t.Errorf("%s %d: %T, want a *pool.Error: %v", a.method, a.id, a.err, a.err)
			case a.method == http.MethodPost && e.Phase.Unprocessed() && executed.Count(a.id) > 0:
				t.Errorf("POST %d is said to be unprocessed, and was executed: %v", a.id, a.err)
			}
		}
		if post.ran == 0 {
			t.Error("no POST that failed was executed: the kills came to nothing")
		}
		ours.close(t)
		std.close(t)
	}, nginx, haproxy)
}

// killOften kills the proxy and its workers under load, and starts it again.
func (r *rig) killOften() error {
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for range kills {
		<-tick.C
		r.proxy.proc.kill()
		if err := r.proxy.start(); err != nil {
			return err
		}
	}
	<-tick.C
	return nil
}
