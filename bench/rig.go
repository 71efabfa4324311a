package bench

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxFailedIDs bounds the ids of failed calls that a round keeps.
const maxFailedIDs = 1 << 20

// A rig is one client in one round: it makes the calls and keeps what came of them.
type rig struct {
	rt          http.RoundTripper // that most callers share
	build       func() (http.RoundTripper, error)
	clients     []http.RoundTripper // to close
	plan        *plan
	proto       proto
	url         *url.URL
	peer        *server // nil with a target
	callers     int
	ready       int           // for so many requests at once connections are wanted
	idleTimeout time.Duration // the peer's
	callTimeout time.Duration // of each call to a target; zero: no limit, and no target
	limit       int64         // on requests of the round, warm-up included
	length      time.Duration // of the round
	end         time.Time     // set by measure

	ids   ids
	taken atomic.Int64 // of limit

	waves   []wave        // the full ones, where there are waves
	dialled *atomic.Int64 // calls that got a new connection; nil: not counted

	mu      sync.Mutex // guards what follows
	latency *hdrhistogram.Histogram
	failed  []uint64 // ids of calls that returned an error
	errs    int64    // the same, counted
	notOK   int64    // answers that weren't 2xx
	first   error    // of them all

	used usage
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(100, int64(time.Minute), 3) // nanoseconds
}

// newClient makes a client, which closeClients will close. It isn't for
// concurrent use.
func (r *rig) newClient() (http.RoundTripper, error) {
	rt, err := r.build()
	if err == nil {
		r.clients = append(r.clients, rt)
	}
	return rt, err
}

func (r *rig) closeClients() error {
	var errs []error
	for _, rt := range r.clients {
		errs = append(errs, closeClient(rt))
	}
	return errors.Join(errs...)
}

// more takes n requests from the limit, or as many as it leaves, and returns how
// many may be made: none when the round is over.
func (r *rig) more(ctx context.Context, n int) int {
	if ctx.Err() != nil || !time.Now().Before(r.end) {
		return 0
	}
	return r.take(n)
}

func (r *rig) take(n int) int {
	for {
		taken := r.taken.Load()
		n = int(min(int64(n), r.limit-taken))
		if n <= 0 {
			return 0
		}
		if r.taken.CompareAndSwap(taken, taken+int64(n)) {
			return n
		}
	}
}

// measure runs f and takes the use of time, CPU and memory meanwhile. Latencies
// from before are forgotten.
func (r *rig) measure(f func()) {
	r.latency.Reset()
	before := r.ids.total()
	m := startMeter() // on a busy machine it takes its time, which isn't the round's
	r.end = m.start.Add(r.length)
	f()
	r.used = m.stop()
	r.used.requests = r.ids.total() - before
}

func (r *rig) caller() *caller { return &caller{rig: r, rt: r.rt} }

// each runs f for every caller at the same time and waits for all.
func (r *rig) each(f func(*caller)) {
	var wg sync.WaitGroup
	for range r.callers {
		wg.Go(func() { f(r.caller()) })
	}
	wg.Wait()
}

// busy has every caller make one call after the other until the round is over.
func (r *rig) busy(ctx context.Context, method string) {
	r.each(func(c *caller) {
		for r.more(ctx, 1) > 0 {
			c.call(ctx, method)
		}
	})
}

// wave makes n calls at the same moment and waits for all.
func (r *rig) wave(ctx context.Context, n int, method string) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range n {
		wg.Go(func() {
			c := r.caller()
			<-start
			c.call(ctx, method)
		})
	}
	close(start)
	wg.Wait()
}

// cool drops the client's idle connections.
func (r *rig) cool() {
	if c, ok := r.rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// succeeded records a call that got an answer.
func (r *rig) succeeded(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.latency.RecordValue(min(int64(d), int64(time.Minute)))
}

// failedCall records a call that returned an error.
func (r *rig) failedCall(id uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs++
	if len(r.failed) < maxFailedIDs {
		r.failed = append(r.failed, id)
	}
	r.note(err)
}

// unexpected records an answer that isn't 2xx.
func (r *rig) unexpected(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notOK++
	r.note(err)
}

// note keeps the first error; r.mu is held.
func (r *rig) note(err error) {
	if r.first == nil {
		r.first = err
	}
}

// ids gives out request ids without gaps: safe methods from 1, the others from
// unsafeBase + 1, so that the peer's record of them can be told apart.
type ids struct{ safe, unsafe atomic.Uint64 }

const unsafeBase = 1 << 40

var safeMethods = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

func (i *ids) next(method string) uint64 {
	if slices.Contains(safeMethods, method) {
		return i.safe.Add(1)
	}
	return unsafeBase + i.unsafe.Add(1)
}

func (i *ids) total() uint64 { return i.safe.Load() + i.unsafe.Load() }
