//go:build proxies && unix

package realproxy

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/connwise/internal/frontproxy"
)

const limitRequests = 4000 // of each client

// nginx says "Connection: close" in a connection's last answer. Over HTTP/2 it sends a GOAWAY
// with the last stream that it takes, and nghttpx one without, and the true one later. A client
// that heeds it loses nothing, and needs one dial for keepRequests requests.
func TestRequestLimitFailsNothing(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRigOf(t, v, frontproxy.Settings{Idle: longIdle, Requests: keepRequests}, startOrigin(t))
		ours, std := newConnwise(r), newNetHTTP(r)
		oursRec, stdRec := &record{client: "connwise"}, &record{client: "net/http"}
		var wg sync.WaitGroup
		r.burst(&wg, ours.transport(t), oursRec)
		r.burst(&wg, std.transport(t), stdRec)
		wg.Wait()

		executed := r.executions()
		o, theirs := judge(oursRec, ours, executed), judge(stdRec, std, executed)
		logTable(t, o, theirs)
		o.wantClean(t)
		if v.proto != frontproxy.H2 {
			theirs.wantNeverTwice(t)
		}
		// Besides full connections there are those open at the end, and those that a
		// worker dialled for and that came second to a freed one. Fewer are enough where the
		// proxy takes more until the client has heard of the limit.
		if most := uint64(limitRequests/keepRequests + 3*workers); o.dials == 0 || o.dials > most {
			t.Errorf("connwise dialled %d times, want %d at most", o.dials, most)
		}
		ours.close(t)
		std.close(t)
	}, overHTTP1(frontproxy.Nginx), overHTTP2(frontproxy.Nginx, frontproxy.Nghttpx))
}

// burst starts workers that send limitRequests requests, every other one a POST, without
// a pause.
func (r *rig) burst(wg *sync.WaitGroup, rt http.RoundTripper, rec *record) {
	var n atomic.Int64
	for range workers {
		wg.Go(func() {
			for i := n.Add(1); i <= limitRequests; i = n.Add(1) {
				r.send(rt, [...]string{http.MethodGet, http.MethodPost}[i%2], rec)
			}
		})
	}
}
