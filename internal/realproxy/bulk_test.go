//go:build proxies && unix

package realproxy

import (
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
)

const (
	bulkWorkers = 64     // of each client
	bulkDefault = 20_000 // requests of each client, over all ways
	bulkReloads = 3      // at least
)

// bulkKinds announce by a GOAWAY each close of an HTTP/2 connection under load.
var bulkKinds = []frontproxy.Kind{{Name: goServerName}, frontproxy.Nginx, frontproxy.HAProxy, frontproxy.Caddy, frontproxy.Nghttpx}

// Requests of all methods, with bodies of 0 B to 8 MiB both ways, 64 at a time: each byte
// arrives, nothing is executed twice, and a front that is calm, or announces what it takes
// no more, makes no request fail. CONNWISE_BULK is how many requests each client sends over
// all ways; 20,000 by default.
func TestBulkLosesNothing(t *testing.T) {
	share := bulkShare(t)
	for _, k := range bulkKinds {
		v := variant{kind: k, proto: frontproxy.H2}
		t.Run("calm/"+k.Name, func(t *testing.T) {
			t.Parallel()
			r, c := newBulkRig(t, v)
			r.bulk(t, c, share, 0)
		})
		t.Run("reload/"+k.Name, func(t *testing.T) {
			t.Parallel()
			r, c := newBulkRig(t, v)
			r.bulk(t, c, share, bulkReloads)
		})
	}
}

// Many long uploads at once bring no answer for a while, and more credit than anything else.
func TestLongUploadsAtOnce(t *testing.T) {
	for _, k := range bulkKinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			r, c := newBulkRig(t, variant{kind: k, proto: frontproxy.H2})
			ours, rec := newConnwise(r), &record{client: "connwise"}
			rt := ours.transport(t)
			var wg sync.WaitGroup
			for range bulkWorkers {
				wg.Go(func() { r.sendLong(rt, rec) })
			}
			wg.Wait()
			o := judge(rec, ours, r.executions())
			logTable(t, o)
			c.wantRight(t)
			o.wantClean(t)
			ours.close(t)
		})
	}
}

// bulkShare is how many requests a client sends on each way.
func bulkShare(t *testing.T) int64 {
	t.Helper()
	total := bulkDefault
	if s := os.Getenv("CONNWISE_BULK"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("CONNWISE_BULK is %q, want a number of requests", s)
		}
		total = n
	}
	return int64(max(1, total/(2*len(bulkKinds))))
}

// newBulkRig makes a rig with a checker as the origin, or behind no proxy at all.
func newBulkRig(t *testing.T, v variant) (*rig, *checker) {
	t.Helper()
	c := startChecker(t)
	if v.kind.Name != goServerName {
		return newRigOf(t, v, frontproxy.Settings{Idle: longIdle}, c), c
	}
	r := &rig{variant: v, origin: c, idle: longIdle}
	s := startGoServer(t, c, longIdle)
	r.front, r.roots, r.url = s, s.roots, v.url(t, s.addr())
	return r, c
}

// bulk lets both clients send n requests each, and more until the last of the reloads, which
// come once every reloadEvery as long as requests are sent, but so many at least. Zero: none.
func (r *rig) bulk(t *testing.T, c *checker, n int64, reloads int) {
	t.Helper()
	ours, std := newConnwise(r), newNetHTTP(r)
	oursRec, stdRec := &record{client: "connwise"}, &record{client: "net/http"}
	loads := []*bulkLoad{newBulkLoad(r, oursRec, n), newBulkLoad(r, stdRec, n)}
	begin := time.Now()
	loads[0].start(ours.transport(t))
	loads[1].start(std.transport(t))
	done := 0
	var err error
	for reloads > 0 && err == nil && (done < reloads || !loads[0].sentAll() || !loads[1].sentAll()) {
		pause(reloadEvery, nil)
		err = r.front.Reload()
		done++
	}
	for _, l := range loads {
		l.finish()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reloads in %v", done, time.Since(begin).Round(time.Millisecond))

	executed := r.executions()
	o, theirs := judge(oursRec, ours, executed), judge(stdRec, std, executed)
	logTable(t, o, theirs)
	c.wantRight(t)
	r.wantBulk(t, o, executed)
	ours.close(t)
	std.close(t)
}

// wantBulk checks that nothing failed. A front may say itself that it has cut answers that
// it had begun; then those are logged.
func (r *rig) wantBulk(t *testing.T, o outcome, executed peer.Executions) {
	t.Helper()
	if !r.saysItCut() {
		o.wantClean(t)
		return
	}
	o.wantNeverTwice(t)
	o.wantMayHaveRun(t, executed)
	t.Logf("%s: %d failed, and %s says that it %q", o.client, o.failed, r.kind.Name, r.kind.Cutting)
}

// saysItCut reports whether the proxy has said so.
func (r *rig) saysItCut() bool {
	if r.kind.Cutting == "" {
		return false
	}
	return r.proxy.Front().Said(r.kind.Cutting) > 0
}

// A bulkLoad is bulkWorkers of one client. They send n requests, and more until finish.
type bulkLoad struct {
	rig  *rig
	rec  *record
	n    int64
	sent atomic.Int64
	done atomic.Bool
	wg   sync.WaitGroup
}

func newBulkLoad(r *rig, rec *record, n int64) *bulkLoad { return &bulkLoad{rig: r, rec: rec, n: n} }

func (l *bulkLoad) start(rt http.RoundTripper) {
	for range bulkWorkers {
		l.wg.Go(func() {
			for l.sent.Add(1) <= l.n || !l.done.Load() {
				l.rig.sendBulk(rt, l.rec)
			}
		})
	}
}

// sentAll reports whether all n requests have begun.
func (l *bulkLoad) sentAll() bool { return l.sent.Load() >= l.n }

// finish waits until all requests have ended.
func (l *bulkLoad) finish() {
	l.done.Store(true)
	l.wg.Wait()
}
