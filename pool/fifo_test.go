package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/health"
)

// A line is a host's queue as a test sees it: requests come one by one, all connections are in
// the test's hands, and whoever gets one says so and hands it to the test.
type line struct {
	*testing.T
	h      *host
	held   []*conn
	queued []*lineRequest // the oldest first, as the test knows it
	served chan *lineRequest
	fails  atomic.Int32 // so many dials are to fail
	n      int
}

type lineRequest struct {
	n     int
	leave context.CancelFunc
	g     grant
	err   error
}

// A mortal is a connection in memory that can be found dead.
type mortal struct {
	stillConn
	dead atomic.Bool
}

func (c *mortal) Look() (health.Verdict, error) {
	if c.dead.Load() {
		return health.Dead, errors.New("found dead")
	}
	return health.Alive, nil
}

var errNoDial = errors.New("no dial succeeds now")

// inLine runs f in a bubble with a host of which the test holds all connections.
func inLine(t *testing.T, limit int, f func(*line)) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{T: t, served: make(chan *lineRequest, 20_000)} // room for all, should the test end early
		tr, err := New(Config{MaxConnsPerHost: limit, MaxWait: time.Hour, Base: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(time.Millisecond)
				if l.fails.Add(-1) >= 0 {
					return nil, errNoDial
				}
				l.fails.Store(0)
				return &mortal{}, nil
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		l.h = hostNamed(t, tr, "host.test")
		for range limit {
			l.come()
			l.hold(<-l.served)
		}
		l.queued = nil
		f(l)
		for _, c := range l.held {
			l.h.put(c)
		}
		tr.Close()
		synctest.Wait()
		(&script{T: t, tr: tr}).wantAtRest()
	})
}

// come starts a request, which is the last in the line as soon as anybody looks.
func (l *line) come() *lineRequest {
	ctx, cancel := context.WithCancel(context.Background())
	r := &lineRequest{n: l.n, leave: cancel}
	l.n++
	l.queued = append(l.queued, r)
	go func() {
		r.g, r.err = l.h.acquire(wish{ctx: ctx, w: new(*waiter)})
		l.served <- r
	}()
	return r
}

func (l *line) hold(r *lineRequest) {
	l.Helper()
	if r.err != nil {
		l.Fatal(r.err)
	}
	r.g.c.uses++
	r.g.c.idleSince = time.Now()
	l.held = append(l.held, r.g.c)
}

// give gives a connection back, maybe a dead one, and sees that the oldest request gets it, or
// the one that is dialled in its place.
func (l *line) give(dead bool) {
	l.Helper()
	c := l.held[0]
	l.held = l.held[1:]
	c.nc.(*mortal).dead.Store(dead)
	l.h.put(c)
	l.hold(l.wantNext(<-l.served))
}

// giveFailing gives a dead connection back, and the dial in its place fails: the oldest request
// gets that error, and the next one a connection.
func (l *line) giveFailing() {
	l.Helper()
	l.fails.Store(1)
	c := l.held[0]
	l.held = l.held[1:]
	c.nc.(*mortal).dead.Store(true)
	l.h.put(c)
	first, second := <-l.served, <-l.served
	if first.n > second.n {
		first, second = second, first // both are through; which says so first is chance
	}
	if l.wantNext(first); !errors.Is(first.err, errNoDial) {
		l.Fatalf("request %d got %v, want the dial's error", first.n, first.err)
	}
	l.hold(l.wantNext(second))
}

// wantNext sees that r, which is through, was the oldest.
func (l *line) wantNext(r *lineRequest) *lineRequest {
	l.Helper()
	oldest := l.queued[0]
	l.queued = l.queued[1:]
	if r != oldest {
		l.Fatalf("request %d was served before request %d", r.n, oldest.n)
	}
	return r
}

// leaves lets the request at that place leave.
func (l *line) leaves(i int) {
	l.Helper()
	r := l.queued[i]
	l.queued = append(l.queued[:i:i], l.queued[i+1:]...)
	r.leave()
	if got := <-l.served; got != r || !errors.Is(r.err, context.Canceled) {
		l.Fatalf("request %d left, and %d came back with %v", r.n, got.n, got.err)
	}
}

// Of 10,000 requests that wait none is overtaken by a later one: not when some give up, when a
// connection turns out to be dead in the hands of the one who got it, when dials fail, nor by
// those who come at the moment in which a connection is given back.
func TestNobodyIsOvertaken(t *testing.T) {
	for limit := 1; limit <= 4; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			n := 1000
			if limit == 2 {
				n = 10_000
			}
			inLine(t, limit, func(l *line) {
				for range n {
					l.come()
					synctest.Wait() // so that they come in this order
				}
				if st := l.h.stats(); st.Waiting != n {
					t.Fatalf("%d wait", st.Waiting)
				}
				l.inTurn(rand.New(rand.NewPCG(uint64(limit), 1)))
			})
		})
	}
}

// inTurn gives connections until nobody waits any more.
func (l *line) inTurn(r *rand.Rand) {
	for late := 0; len(l.queued) > 0; {
		switch op := r.IntN(20); {
		case op == 0:
			l.leaves(r.IntN(len(l.queued)))
		case op == 1:
			l.give(true)
		case op == 2 && len(l.queued) > 1 && len(l.held) > 1: // else all are told of the failure
			l.giveFailing()
		case op <= 4 && late < 1000:
			late++
			l.come()
			l.give(false) // at the same moment
			synctest.Wait()
		default:
			l.give(false)
		}
	}
}

// Where goroutines really run at the same time, no newcomer takes a connection while one of those
// waits who were there before it came.
func TestNewcomersDoNotBarge(t *testing.T) {
	const waiters, newcomers, trips, limit = 500, 4, 500, 2
	tr, err := New(Config{MaxConnsPerHost: limit, Base: &http.Transport{DialContext: dialStill}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h := hostNamed(t, tr, "host.test")
	take := func() *conn {
		g, err := h.acquire(wish{ctx: t.Context(), w: new(*waiter)})
		if err != nil {
			t.Error(err)
			return nil
		}
		return g.c
	}
	held := []*conn{take(), take()}
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() { h.put(take()) })
	}
	eventually(t, "all wait", func() bool { return h.stats().Waiting == waiters })
	h.mu.Lock()
	last := h.queue.places
	h.mu.Unlock()
	for range newcomers {
		wg.Go(func() {
			for range trips {
				c := take()
				h.mu.Lock()
				if w := h.queue.head; w != nil && w.place <= last {
					t.Errorf("a newcomer was served before the one at place %d of %d", w.place, last)
				}
				h.mu.Unlock()
				h.put(c)
			}
		})
	}
	for _, c := range held {
		h.put(c)
	}
	wg.Wait()
}
