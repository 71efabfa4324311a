//go:build proxies && unix

package realproxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"example.com/connwise/internal/frontproxy"
)

const (
	coldRequests = 500
	coldRounds   = 3 // of connwise, each with nothing known of the proxy
)

// A burst that finds no connection makes net/http dial for each request. Handshakes then queue
// for the CPU, and most of the connections come too late for whom they were dialled. connwise
// has no more dials under way than handshakes bear. How many that are it finds out as it goes,
// on a busy machine with some luck, so that the middle one of its rounds counts.
func TestColdBurstDialsLess(t *testing.T) {
	for _, v := range direct(variants([]frontproxy.Kind{frontproxy.Nginx, frontproxy.HAProxy}, frontproxy.TLS)) {
		t.Run(v.String(), func(t *testing.T) { // not at the same time: each takes all of the CPU
			r := newRig(t, v, longIdle)
			var clients []client
			for range coldRounds {
				clients = append(clients, newConnwise(r))
			}
			clients = append(clients, newNetHTTP(r))
			records := make([]*record, len(clients))
			for i, c := range clients {
				records[i] = &record{client: map[bool]string{true: "connwise", false: "net/http"}[i < coldRounds]}
				r.coldBurst(c.transport(t), records[i])
			}
			executed := r.executions()
			var outcomes []outcome
			for i, c := range clients {
				outcomes = append(outcomes, judge(records[i], c, executed))
				c.close(t)
			}
			logBurst(t, outcomes...)
			wantFewDials(t, outcomes[:coldRounds], outcomes[coldRounds])
		})
	}
}

// wantFewDials checks connwise's outcomes beside net/http's.
func wantFewDials(t *testing.T, ours []outcome, theirs outcome) {
	t.Helper()
	var dials []uint64
	for _, o := range ours {
		o.wantClean(t)
		dials = append(dials, o.dials)
	}
	slices.Sort(dials)
	if n := dials[len(dials)/2]; dials[0] == 0 || 2*n > theirs.dials {
		t.Errorf("connwise dialled %d times for %d requests, net/http %d times", dials, coldRequests, theirs.dials)
	}
}

// coldBurst sends GETs and POSTs at once.
func (r *rig) coldBurst(rt http.RoundTripper, rec *record) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range coldRequests {
		wg.Go(func() {
			<-begin
			r.send(rt, [...]string{http.MethodGet, http.MethodPost}[i%2], rec)
		})
	}
	close(begin)
	wg.Wait()
}

func logBurst(t *testing.T, outcomes ...outcome) {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "client\trequests\tfailed\tdials\tp50\tp99\t")
	for _, o := range outcomes {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%v\t%v\t\n", o.client, o.requests, o.failed, o.dials, o.percentile(50), o.percentile(99))
	}
	_ = w.Flush()
	t.Log("\n" + b.String())
}

// percentile is how long p % of the attempts took at most; zero without any.
func (rec *record) percentile(p int) time.Duration {
	var all []time.Duration
	for _, a := range rec.sent {
		all = append(all, a.end.Sub(a.begin))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)*p/100].Round(time.Millisecond)
}
