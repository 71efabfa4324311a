//go:build proxies && unix

package realproxy

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

const (
	workers     = 16 // of each client
	reloads     = 6
	reloadEvery = time.Second
	thinkTime   = 6 * time.Millisecond // at most, between a worker's requests
	getShare    = 0.3
)

// A reload closes idle connections at a moment that no client can know. A GET that crosses
// it is sent again. A POST isn't: its error says that it may have been executed.
func TestReloadFailsNoGETAndSendsNoPOSTTwice(t *testing.T) {
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
		err := r.reloadOften()
		close(stop)
		wg.Wait()
		if err != nil {
			t.Fatalf("reload: %v", err)
		}

		executed := r.executions()
		get, post := judge(oursGET, ours, executed), judge(oursPOST, ours, executed)
		theirs := judge(stdPOST, std, executed)
		logTable(t, get, post, judge(stdGET, std, executed), theirs)
		if get.failed > 0 || get.lost > 0 {
			t.Errorf("%d of %d GETs failed, %d lost: %s", get.failed, get.requests, get.lost, get.kinds())
		}
		post.wantNeverTwice(t)
		post.wantMayHaveRun(t)
		theirs.wantNeverTwice(t)
		ours.close(t)
		std.close(t)
	}, nginx, haproxy)
}

// mixed sends GETs and POSTs one after the other until stop.
func (r *rig) mixed(rt http.RoundTripper, gets, posts *record, stop <-chan struct{}) {
	for pause(rand.N(thinkTime), stop) {
		if rand.Float64() < getShare {
			r.send(rt, http.MethodGet, gets)
		} else {
			r.send(rt, http.MethodPost, posts)
		}
	}
}

func (r *rig) reloadOften() error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for range reloads {
		<-tick.C
		if err := r.proxy.reloadNow(); err != nil {
			return err
		}
	}
	<-tick.C // old workers end under load
	return nil
}

// wantMayHaveRun checks that each failure is a *pool.Error of a phase in which a byte of
// the request had left. In an earlier phase retry would have sent it again; PhaseResponse
// is an answer that broke off.
func (o outcome) wantMayHaveRun(t *testing.T) {
	t.Helper()
	for _, a := range o.failures() {
		e, ok := errors.AsType[*pool.Error](a.err)
		if !ok {
			t.Errorf("%s: %s %d: %T, want a *pool.Error: %v", o.client, a.method, a.id, a.err, a.err)
			continue
		}
		switch e.Phase {
		case pool.PhaseSending, pool.PhaseSent, pool.PhaseResponse:
			if e.Sent == 0 {
				t.Errorf("%s: %s %d: phase %v with no byte sent: %v", o.client, a.method, a.id, e.Phase, a.err)
			}
		default:
			t.Errorf("%s: %s %d: phase %v, want sending, sent or response: %v", o.client, a.method, a.id, e.Phase, a.err)
		}
	}
}
