package pool

import (
	"net/http"
	"os"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// A massRig has a pool whose idle connections, all to one server, are closed by it at once.
type massRig struct {
	*idleRig
	tr     *Transport
	server *peer.Remote
	url    string
}

func newMassRig(tb testing.TB, n int) *massRig {
	tb.Helper()
	r := newIdleRig(tb, n)
	s, err := r.child.Listen(false, peer.Faults{BodySize: 2})
	if err != nil {
		tb.Fatal(err)
	}
	tr, err := New(Config{Base: &http.Transport{}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tr.Close() })
	return &massRig{r, tr, s, "http://" + s.Addr() + "/"}
}

// idle leaves the pool with n idle connections.
func (r *massRig) idle() {
	r.Helper()
	r.open(r.tr, r.url)
	// The pool looks once more at those of a server that has closed many behind an answer.
	r.await(func(st HostStats) bool { return st.Idle == r.n })
}

// closeAll has the server close them all, and returns how long it was from the command to
// it until the pool has none.
func (r *massRig) closeAll() time.Duration {
	r.Helper()
	start := time.Now()
	if n, err := r.server.Drop(peer.Drop{}); n != r.n || err != nil {
		r.Fatalf("the server closed %d connections of %d: %v", n, r.n, err)
	}
	r.await(func(st HostStats) bool { return st.Open == 0 })
	return time.Since(start)
}

// await waits for what announces itself by no event.
func (r *massRig) await(cond func(HostStats) bool) {
	r.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		st := r.tr.Stats().Hosts[0]
		if cond(st) {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d connections are open, %d idle, of %d; closed: %v", st.Open, st.Idle, r.n, st.ClosedBy)
		}
	}
}

// descriptors counts the process's; zero where that isn't known.
func descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

// Five thousand connections that are closed at once are gone from the books in well under
// a second, and their descriptors with them. The bound here is for a busy machine and the
// race detector; BenchmarkMassClose has the figure.
func TestAMassCloseIsDigestedSoon(t *testing.T) {
	const bound = 8 * time.Second
	r := newMassRig(t, 5000)
	before := descriptors()
	r.idle()
	start := time.Now()
	took := r.closeAll()
	for descriptors() > before+2 && time.Since(start) < 2*bound { // the watcher has two
		<-time.After(time.Millisecond)
	}
	t.Logf("%d connections are gone after %v, their descriptors after %v", r.n, took, time.Since(start))
	if took > bound {
		t.Errorf("%d connections were gone after %v", r.n, took)
	}
	if n := descriptors(); n > before+2 {
		t.Errorf("%d descriptors are open, %d were before", n, before)
	}
	if total := r.tr.Stats().Total; total.ClosedBy[ReasonPeerClosed] != uint64(r.n) || total.Closed != uint64(r.n) {
		t.Errorf("closed: %v, want %d by the peer", total.ClosedBy, r.n)
	}
	roundTrip(t, r.tr, r.url)
}

// From the command to the server until the last of 5,000 is gone.
func BenchmarkMassClose(b *testing.B) {
	r := newMassRig(b, 5000)
	var sum time.Duration
	for range b.N {
		r.idle()
		sum += r.closeAll()
	}
	b.ReportMetric(0, "ns/op") // opening them is no part of it
	b.ReportMetric(float64(sum.Milliseconds())/float64(b.N), "ms/close")
}
