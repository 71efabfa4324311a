package bench

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkRoundTrip measures small GETs on warm connections, against a peer in
// another process: client / protocol / callers at a time. Beside ns/op, the time
// between two answers, it reports the CPU time of this process in cpu-us/op, which
// is what a client costs when the machine is busy.
func BenchmarkRoundTrip(b *testing.B) {
	for _, c := range []Client{Connwise(), NetHTTP()} {
		b.Run("client="+strings.ReplaceAll(c.Name, "/", "-"), func(b *testing.B) {
			for _, q := range protos {
				b.Run("proto="+q.name, func(b *testing.B) {
					for _, callers := range []int{1, 16, 64, 256} {
						b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchRoundTrip(b, c, q, callers) })
					}
				})
			}
		})
	}
}

func benchRoundTrip(b *testing.B, c Client, q proto, callers int) {
	l := labOf(b, Options{Workers: callers, Scenarios: []string{"steady"}})
	r, err := l.newRig(row{scenario: l.rows[0].scenario, proto: q}, c, l.share(0))
	if err != nil {
		b.Fatal(err)
	}
	cs := make([]*caller, callers)
	for i := range cs {
		cs[i] = r.caller()
	}
	split(b.Context(), cs, 2*callers) // opens the connections and makes the requests

	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	split(b.Context(), cs, b.N)
	used := cpuTime() - before
	b.StopTimer()

	if haveCPU {
		b.ReportMetric(used.Seconds()*1e6/float64(b.N), "cpu-us/op")
	}
	if err := r.closeClients(); err != nil {
		b.Error(err)
	}
	checkRound(b, r)
}

// split makes n calls, shared by the callers.
func split(ctx context.Context, cs []*caller, n int) {
	var taken atomic.Int64
	var wg sync.WaitGroup
	for _, c := range cs {
		wg.Go(func() {
			for taken.Add(1) <= int64(n) {
				c.call(ctx, http.MethodGet)
			}
		})
	}
	wg.Wait()
}

// checkRound fails a benchmark that measured failures.
func checkRound(b *testing.B, r *rig) {
	b.Helper()
	rep, err := r.closePeer()
	if err != nil {
		b.Fatal(err)
	}
	var t tally
	t.latency = newHistogram()
	t.add(r, rep)
	if t.failed != 0 || t.notOK != 0 || t.record.lost != 0 {
		b.Errorf("%d failed, %d not 2xx, %d lost; first error: %v", t.failed, t.notOK, t.record.lost, t.first)
	}
}
