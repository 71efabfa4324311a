//go:build proxies && unix

package realproxy

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
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
	sureGET, sure   outcome // connwise's that asks for a sign of life before each POST
	stdGET, stdPOST outcome // net/http's
	executed        peer.Executions
}

// disturb lets workers of both clients send while f disturbs the proxy, logs the table and
// checks what holds whatever f does: no POST is executed twice or lost, no GET is lost,
// and connwise has no connection left.
func (r *rig) disturb(t *testing.T, f func() error) mixed {
	t.Helper()
	ours, sure, std := newConnwise(r), newConfirming(r, always), newNetHTTP(r)
	get, post := &record{client: "connwise GET"}, &record{client: "connwise POST"}
	sureGET, surePOST := &record{client: "connwise, confirming, GET"}, &record{client: "connwise, confirming, POST"}
	stdGET, stdPOST := &record{client: "net/http GET"}, &record{client: "net/http POST"}

	stop := make(chan struct{})
	var wg sync.WaitGroup
	oursRT, sureRT, stdRT := ours.transport(t), sure.transport(t), std.transport(t)
	for range workers {
		wg.Go(func() { r.mix(oursRT, get, post, stop) })
		wg.Go(func() { r.mix(sureRT, sureGET, surePOST, stop) })
		wg.Go(func() { r.mix(stdRT, stdGET, stdPOST, stop) })
	}
	err := f()
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}

	ex := r.executions()
	m := mixed{
		judge(get, ours, ex), judge(post, ours, ex), judge(sureGET, sure, ex), judge(surePOST, sure, ex),
		judge(stdGET, std, ex), judge(stdPOST, std, ex), ex,
	}
	logTable(t, m.get, m.post, m.sureGET, m.sure, m.stdGET, m.stdPOST)
	m.post.wantNeverTwice(t)
	m.sure.wantNeverTwice(t)
	if r.proto != frontproxy.H2 { // over HTTP/2 net/http may send a POST again that has been executed
		m.stdPOST.wantNeverTwice(t)
	}
	for _, o := range []outcome{m.get, m.sureGET} {
		if o.lost > 0 {
			t.Errorf("%s: %d of %d were answered and not executed", o.client, o.lost, o.requests)
		}
	}
	ours.close(t)
	sure.close(t)
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
