package bench

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// A rig is one client in one round: it makes the calls and keeps what came of them.
type rig struct {
	client      any // that most callers share: an http.RoundTripper or a Caller
	build       func() (any, error)
	clients     []any // to close
	plan        *plan
	proto       proto
	size        int           // the row's, of a scenario that has sizes
	urls        []*url.URL    // to take turns; one but in hosts
	peer        *server       // nil with a target
	front       Front         // before the peer; nil: none
	asked       ProxySetup    // of it
	dials       *dials        // to it
	late        time.Duration // timers at most; only noted behind a proxy, and if timed
	timed       bool
	names       *names // nil: the peer is called by its address
	callers     int
	ready       int           // for so many requests at once connections are wanted
	upload      []byte        // the body of POSTs
	checked     int64         // the length of answers, where they are looked at; otherwise zero
	idleTimeout time.Duration // the peer's
	callTimeout time.Duration // of each call; zero: no limit
	limit       int64         // on requests of the round, warm-up included
	load        Load          // of busy and drive
	round       int           // of the row
	length      time.Duration // of the round
	end         time.Time     // set by measure

	ids   ids
	taken atomic.Int64 // of limit
	made  atomic.Int64 // callers

	unmade   int64         // calls that were due and not made
	waves    []wave        // the full ones, where there are waves
	dialled  *atomic.Int64 // calls that got a new connection; nil: not counted
	recorder *recorder     // set by measure where the scenario has a timeline
	traced   bool          // it has
	moved    *atomic.Int64 // bytes of bodies, of calls that succeeded; nil: not counted
	lane     *lane         // when calls were due and answered; nil: not kept
	leftOpen *int64        // connections, see left; nil: not counted
	damaged  atomic.Int64  // answers, of those that are looked at

	violations int64 // set by closePeer

	latency *latencies

	mu     sync.Mutex // guards what follows
	failed []uint64   // ids of calls that returned an error
	notOK  []uint64   // ids of answers that weren't 2xx
	ended  []uint64   // ids of calls that were cancelled, and returned an error
	storm  bool       // calls are cancelled
	first  error      // of them all

	used usage
}

// newClient makes a client, which closeClients will close. It isn't for
// concurrent use.
func (r *rig) newClient() (any, error) {
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

// release lets go of what a round needs no more when it is over, so that the next client
// finds a heap like the last one's.
func (r *rig) release() {
	r.client, r.clients, r.build = nil, nil, nil
	r.latency.compact()
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
	r.latency.reset()
	before, moved := r.ids.total(), r.bytes()
	m := startMeter() // on a busy machine it takes its time, which isn't the round's
	r.end = m.start.Add(r.length)
	if r.traced {
		r.recorder = newRecorder(m.start, r.length)
	}
	if r.front != nil || r.timed {
		r.watched(f)
	} else {
		f()
	}
	r.used = m.stop()
	r.used.requests = r.ids.total() - before
	r.used.bytes = r.bytes() - moved
}

// caller returns a new caller of the client that they share.
func (r *rig) caller() *caller { return r.callerOf(r.client) }

func (r *rig) callerOf(client any) *caller {
	return &caller{rig: r, client: client, num: int(r.made.Add(1))}
}

// urlOf returns the URL for a request.
func (r *rig) urlOf(id uint64) *url.URL { return r.urls[id%uint64(len(r.urls))] }

// bounded returns a context for a call that may take limit.
func (r *rig) bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if r.peer == nil {
		return boundedOnce(ctx, limit, r.proto.h2)
	}
	return context.WithTimeoutCause(ctx, limit, tooLong(limit))
}

// each runs f for every caller at the same time and waits for all.
func (r *rig) each(f func(*caller)) {
	var wg sync.WaitGroup
	for range r.callers {
		wg.Go(func() { f(r.caller()) })
	}
	wg.Wait()
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
	if c, ok := r.client.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// succeeded records a call of a caller that got an answer just now, after d.
func (r *rig) succeeded(caller int, now time.Time, d time.Duration) {
	r.latency.record(caller, d)
	if rec := r.recorder; rec != nil {
		rec.done[rec.binOf(now)].Add(1)
	}
	if r.lane != nil {
		r.lane.add(now.Add(-d), now)
	}
}

// failedCall records a call that returned an error just now.
func (r *rig) failedCall(id uint64, now time.Time, err error) {
	if rec := r.recorder; rec != nil {
		rec.failed[rec.binOf(now)].Add(1)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.keep(r.failed, id)
	r.note(err)
}

// unexpected records an answer that isn't 2xx.
func (r *rig) unexpected(id uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notOK = r.keep(r.notOK, id)
	r.note(err)
}

// note keeps the first error; r.mu is held.
func (r *rig) note(err error) {
	if r.first == nil {
		r.first = err
	}
}
