//go:build proxies && unix

package realproxy

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

const (
	workers   = 16                   // of each client
	thinkTime = 6 * time.Millisecond // at most, between a worker's requests
	getShare  = 0.3
)

// A mixed is what came of a load of GETs and POSTs under which the proxy was disturbed.
type mixed struct {
	get, post       outcome // connwise's
	stdGET, stdPOST outcome // net/http's
	executed        peer.Executions
}

// disturb lets workers of both clients send while f disturbs the proxy, logs the table and
// checks what holds whatever f does: no POST is executed twice or lost, no GET is lost,
// and connwise has no connection left.
func (r *rig) disturb(t *testing.T, f func() error) mixed {
	t.Helper()
	ours, std := newConnwise(r), newNetHTTP(r)
	get, post := &record{client: "connwise GET"}, &record{client: "connwise POST"}
	stdGET, stdPOST := &record{client: "net/http GET"}, &record{client: "net/http POST"}

	stop := make(chan struct{})
	var wg sync.WaitGroup
	oursRT, stdRT := ours.transport(t), std.transport(t)
	for range workers {
		wg.Go(func() { r.mix(oursRT, get, post, stop) })
		wg.Go(func() { r.mix(stdRT, stdGET, stdPOST, stop) })
	}
	err := f()
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}

	ex := r.executions()
	m := mixed{judge(get, ours, ex), judge(post, ours, ex), judge(stdGET, std, ex), judge(stdPOST, std, ex), ex}
	logTable(t, m.get, m.post, m.stdGET, m.stdPOST)
	m.post.wantNeverTwice(t)
	if r.proto != overH2 { // over HTTP/2 net/http may send a POST again that has been executed
		m.stdPOST.wantNeverTwice(t)
	}
	if m.get.lost > 0 {
		t.Errorf("%d of %d GETs were answered and not executed", m.get.lost, m.get.requests)
	}
	ours.close(t)
	std.close(t)
	return m
}

// mix sends GETs and POSTs one after the other until stop.
func (r *rig) mix(rt http.RoundTripper, gets, posts *record, stop <-chan struct{}) {
	for pause(rand.N(thinkTime), stop) {
		if rand.Float64() < getShare {
			r.send(rt, http.MethodGet, gets)
		} else {
			r.send(rt, http.MethodPost, posts)
		}
	}
}
