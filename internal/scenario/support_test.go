package scenario

import (
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"example.com/connwise/health"
	"example.com/connwise/pool"

	"go.uber.org/goleak"
)

// restTime is how long a closed transport may take to be gone without a trace.
const restTime = time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(warmed{m}) }

// warmed runs the tests while the process has what it makes once and keeps, so that no
// test is charged with it: the runtime's poller, and the goroutine that watches
// connections, which outlives the last one by a moment.
type warmed struct{ m *testing.M }

func (w warmed) Run() int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		panic(err)
	}
	defer c.Close()
	defer health.Watch(c, func() {}).Stop()
	return w.m.Run()
}

// A mode is how connections are made.
type mode struct {
	name string
	tls  bool
}

var (
	plain = mode{"plain", false}
	overT = mode{"tls", true}
)

// eachMode runs test over plain connections and over TLS.
func eachMode(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	for _, m := range []mode{plain, overT} {
		t.Run(m.name, func(t *testing.T) { test(t, newRig(t, m)) })
	}
}

// A rig holds a test's transports and peers, ends them in the right order, and checks
// then that the books are balanced and that goroutines and descriptors are as before.
// Tests with a rig must not run in parallel: the process's descriptors are counted.
type rig struct {
	t     *testing.T
	mode  mode
	mu    sync.Mutex // guards the following while the test runs
	pools []*pool.Transport
	ends  []func() // end what the transports were connected to
}

func newRig(t *testing.T, m mode) *rig {
	r := &rig{t: t, mode: m}
	goroutines, fds := goleak.IgnoreCurrent(), openFDs()
	t.Cleanup(func() {
		r.end()
		if n := lateReads.Swap(0); n > 0 {
			t.Errorf("request bodies were read %d times after their calls were over", n)
		}
		if t.Failed() {
			return // what is left behind is no news then
		}
		var err error
		if !within(restTime, func() bool { err = goleak.Find(goroutines); return err == nil }) {
			t.Errorf("%v after the end: %v", restTime, err)
		}
		if !within(restTime, func() bool { return openFDs() <= fds }) {
			t.Errorf("%v after the end %d descriptors are open, %d were before", restTime, openFDs(), fds)
		}
	})
	return r
}

// end closes the transports, looks at their books, and ends what they were connected to.
func (r *rig) end() {
	for _, tr := range r.pools {
		tr.CloseIdleConnections()
		tr.Close()
	}
	for _, tr := range r.pools {
		checkBooks(r.t, tr)
	}
	for _, end := range r.ends {
		end()
	}
}

// pool makes a transport that trusts the rig's peers. The rig closes it.
func (r *rig) pool(cfg pool.Config) *pool.Transport {
	r.t.Helper()
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	if cfg.Base.TLSClientConfig == nil {
		cfg.Base.TLSClientConfig = clientTLS("")
	}
	tr, err := pool.New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools = append(r.pools, tr)
	return tr
}

// clientTLS trusts the peers. The name is for connections that no transport makes.
func clientTLS(name string) *tls.Config {
	return &tls.Config{RootCAs: identity().roots, ServerName: name}
}

// onEnd has f called when the transports are closed.
func (r *rig) onEnd(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, f)
}

// checkBooks looks at what a closed transport says of itself.
func checkBooks(t *testing.T, tr *pool.Transport) {
	t.Helper()
	if !within(restTime, func() bool { return gauges(tr) == (counts{}) }) {
		t.Errorf("%v after Close the gauges are %+v", restTime, gauges(tr))
	}
	total := tr.Stats().Total
	if total.Opened != total.Closed {
		t.Errorf("%d connections opened, %d closed", total.Opened, total.Closed)
	}
	var sum uint64
	for _, n := range total.ClosedBy {
		sum += n
	}
	if sum != total.Closed {
		t.Errorf("%d connections closed, but the reasons add up to %d: %v", total.Closed, sum, total.ClosedBy)
	}
	if total.Opened+total.DialsFailed != total.Dials {
		t.Errorf("%d dials, of which %d failed, opened %d connections", total.Dials, total.DialsFailed, total.Opened)
	}
}

// counts are gauges.
type counts struct{ Open, Idle, InUse, Dialing, Waiting int }

// gauges sums the gauges of all the transport's hosts.
func gauges(tr *pool.Transport) (sum counts) {
	for _, h := range tr.Stats().Hosts {
		sum.Open += h.Open
		sum.Idle += h.Idle
		sum.InUse += h.InUse
		sum.Dialing += h.Dialing
		sum.Waiting += h.Waiting
	}
	return sum
}

// within reports whether cond comes true in time. It is for states that announce
// themselves by no event.
func within(d time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(d)
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if cond() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// openFDs counts the process's descriptors; zero where that isn't known.
func openFDs() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

// long leaves a test out that takes several seconds, with -short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}
