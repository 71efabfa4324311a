//go:build proxies && unix

package realproxy

import (
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
)

// keepAge makes connections go between two reloads, too: over HTTP/2 a reload ends all at once.
func (v variant) keepAge() time.Duration {
	if v.proto == frontproxy.H2 {
		return reloadEvery * 7 / 10
	}
	return 2 * reloadEvery
}

// Connections that are opened ahead, and those that are replaced for their age, are of no harm
// when a proxy reloads, which ends many of them at a moment that no client can know: what holds
// of reloads without them holds with them, and no more POSTs fail.
func TestReloadOfWarmConnectionsIsAsAnyOther(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		r := newRig(t, v, shortIdle)
		keeping, plain := newConnwise(r), newConnwise(r)
		keeping.cfg.MinIdlePerHost, keeping.cfg.MaxConnAge = minIdle, v.keepAge()
		records := make(map[string]*record)
		for _, name := range []string{"keeping GET", "keeping POST", "plain GET", "plain POST"} {
			records[name] = &record{client: name}
		}
		keepingRT, plainRT := keeping.transport(t), plain.transport(t)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { r.mix(keepingRT, records["keeping GET"], records["keeping POST"], stop) })
			wg.Go(func() { r.mix(plainRT, records["plain GET"], records["plain POST"], stop) })
		}
		err := r.reloadTimes(int(capacityTime() / 2 / reloadEvery))
		close(stop)
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		ahead := keeping.pools[0].Stats().Total.DialsAhead
		executed := r.executions()
		get, post := judge(records["keeping GET"], keeping, executed), judge(records["keeping POST"], keeping, executed)
		plainGET, plainPOST := judge(records["plain GET"], plain, executed), judge(records["plain POST"], plain, executed)
		logTable(t, get, post, plainGET, plainPOST)
		t.Logf("%d dials ahead", ahead)

		get.wantClean(t)
		post.wantNeverTwice(t)
		post.wantMayHaveRun(t, executed)
		if v.proto == frontproxy.H2 {
			post.wantClean(t)
		}
		if most := 2*plainPOST.failed + 5; post.failed > most { // either is a handful, by chance
			t.Errorf("%d POSTs failed, and %d without MinIdlePerHost", post.failed, plainPOST.failed)
		}
		if ahead == 0 || ahead > mostAhead(capacityTime()) {
			t.Errorf("%d dials ahead, want %d at most", ahead, mostAhead(capacityTime()))
		}
		keeping.close(t)
		plain.close(t)
	}, direct([]variant{{kind: frontproxy.Nginx, proto: frontproxy.H1}, {kind: frontproxy.Caddy, proto: frontproxy.TLS}, {kind: frontproxy.Nginx, proto: frontproxy.H2}, {kind: frontproxy.HAProxy, proto: frontproxy.H2}}))
}
