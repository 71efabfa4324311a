package scenario

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A hurry is what ends a wait for capacity, and how that is said.
type hurry struct {
	name  string
	limit time.Duration
	want  error
	time  bool // it counts as a timeout
	bare  bool // the error is the pool's own
	// send sends a request with these over tr, whose own limit on waits is far or near.
	ctx func(context.Context) (context.Context, context.CancelFunc)
	do  func(near, far *pool.Transport) doer
}

var errReason = errors.New("the caller's reason")

const (
	waitLimit = 400 * time.Millisecond // the near transports' MaxWait
	leaves100 = 100 * time.Millisecond
)

var hurries = []hurry{
	{"MaxWait", waitLimit, pool.ErrWaitTimeout, true, true, patient, nearly},
	{"MaxWait under retry", waitLimit, pool.ErrWaitTimeout, true, true, patient, func(near, _ *pool.Transport) doer {
		return over(near, retry.Default())
	}},
	{"MaxWait under a Client", waitLimit, pool.ErrWaitTimeout, true, true, patient, func(near, _ *pool.Transport) doer {
		return (&http.Client{Transport: near}).Do
	}},
	{"a deadline before MaxWait", leaves100, context.DeadlineExceeded, true, true, expiring(leaves100), nearly},
	{"a deadline without MaxWait", leaves100, context.DeadlineExceeded, true, true, expiring(leaves100), farther},
	{"a deadline with a cause", leaves100, errReason, true, true, func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, leaves100, errReason)
	}, nearly},
	{"a cancel", leaves100, context.Canceled, false, true, cancelling(nil), farther},
	{"a cancel with a cause", leaves100, errReason, false, true, cancelling(errReason), nearly},
	{"a Client's Timeout", leaves100, context.DeadlineExceeded, true, false, patient, func(near, _ *pool.Transport) doer {
		return (&http.Client{Transport: near, Timeout: leaves100}).Do
	}},
}

func nearly(near, _ *pool.Transport) doer { return near.RoundTrip }
func farther(_, far *pool.Transport) doer { return far.RoundTrip }

func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, patience)
}

func expiring(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

// cancelling cancels after leaves100.
func cancelling(why error) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		stop := time.AfterFunc(leaves100, func() { cancel(why) })
		return ctx, func() { stop.Stop(); cancel(nil) }
	}
}

// Whatever is spoken, on whatever way: a wait for capacity ends when it was told to, says
// why, and proves that nothing was sent.
func TestOnNoWayDoesAWaitOutlastItsLimit(t *testing.T) {
	waysAtOnce(t, throughProxies, func(t *testing.T, r *rig, sp speech, w way) {
		s := r.depot(sp)
		const conns = 2
		// One has its limits by host, against settings that would not do.
		near, url := r.by(w, s.site, pool.Config{MaxConnsPerHost: 100, MaxWait: time.Hour})
		far, _ := r.by(w, s.site, pool.Config{MaxConnsPerHost: conns})
		host := hostOf(t, near, s, url)
		near, url = r.by(w, s.site, pool.Config{MaxConnsPerHost: 100, MaxWait: time.Hour, Hosts: map[string]pool.HostConfig{
			host: {MaxConnsPerHost: conns, MaxWait: waitLimit},
		}})
		calls, held := s.occupy(t, near.RoundTrip, url, conns)
		more, others := s.occupy(t, far.RoundTrip, url, conns)
		received := s.received()
		var mu sync.Mutex
		quickest := time.Hour
		together(3*len(hurries), func(i int) {
			late := waits(t, near, far, url, hurries[i%len(hurries)], bodyKinds[i%len(bodyKinds)])
			mu.Lock()
			defer mu.Unlock()
			quickest = min(quickest, late)
		})
		if quickest > soon/4 {
			t.Errorf("all waits ended late, by %v at least", quickest)
		}
		for _, tr := range []*pool.Transport{near, far} {
			if g := gauges(tr); g != (counts{Open: conns, InUse: conns}) {
				t.Errorf("with all waits over: %+v", g)
			}
		}
		// By MaxWait: the three kinds of it, three times.
		if n := near.Stats().Total.WaitTimeouts; n != 9 {
			t.Errorf("%d wait timeouts counted, want 9", n)
		}
		if n := s.received(); n != received {
			t.Errorf("the server got %d requests of those who waited", n-received)
		}
		letGo(t, append(held, others...)...)
		all(t, append(calls, more...)...)
	})
}

// hostOf is how Stats names the host that a request to s goes by. It sends one for that.
func hostOf(t *testing.T, tr *pool.Transport, s *depot, url string) string {
	t.Helper()
	call := doer(tr.RoundTrip).start(newPatient(t, http.MethodGet, url, noBody))
	letGo(t, s.next(t))
	all(t, call)
	hosts := tr.Stats().Hosts
	if len(hosts) != 1 {
		t.Fatalf("%d hosts", len(hosts))
	}
	return hosts[0].Host
}

// waits sends a request that is to fail, and returns by how much it was late.
func waits(t *testing.T, near, far *pool.Transport, url string, h hurry, kind bodyKind) time.Duration {
	start := time.Now()
	ctx, cancel := h.ctx(t.Context())
	defer cancel()
	c := newCall(ctx, http.MethodPost, url, kind)
	err := h.do(near, far).send(c)
	took := time.Since(start)
	what := label(h.name, kind)
	untouched(t, what, c)
	if took < h.limit || took > h.limit+soon || !errors.Is(err, h.want) || os.IsTimeout(err) != h.time {
		t.Errorf("%s: after %v, with a limit of %v: %v", what, took, h.limit, err)
	}
	if errors.Is(err, pool.ErrWaitTimeout) != (h.want == pool.ErrWaitTimeout) {
		t.Errorf("%s: %v", what, err)
	}
	if !h.bare {
		return took - h.limit // a Client with a Timeout hides all but that
	}
	pe := poolError(t, err)
	if pe.Phase != pool.PhaseWait || !pe.Phase.Unprocessed() || pe.Timeout() != h.time || pe.BodyTouched || pe.Sent != 0 || pe.Reused || pe.Queued < 1 {
		t.Errorf("%s: error %#v (%v)", what, pe, err)
	}
	if pe.Waited > took || pe.Waited <= 0 || h.want == pool.ErrWaitTimeout && pe.Waited < h.limit {
		t.Errorf("%s: it took %v, waited %v, with a limit of %v", what, took, pe.Waited, h.limit)
	}
	return took - h.limit
}

// One waiter too many fails at once; when one has left there is room for another, and who
// stays is served in turn.
func TestOnNoWayIsThereRoomForOneWaiterTooMany(t *testing.T) {
	waysAtOnce(t, throughProxies, func(t *testing.T, r *rig, sp speech, w way) {
		const most = 3
		s := r.depot(sp)
		tr, url := r.by(w, s.site, pool.Config{MaxConnsPerHost: 1, MaxWaiters: most})
		do := doer(tr.RoundTrip)
		hostOf(t, tr, s, url) // from now on it is known how many streams a connection takes
		calls, held := s.occupy(t, do, url, 1)
		var ids []string
		var waiting []<-chan error
		queue := func(ctx context.Context) {
			c := newCall(ctx, http.MethodPost, url, oneShot)
			ids, waiting = append(ids, c.id), append(waiting, do.start(c))
			wantWaiting(t, tr, min(len(ids), most))
		}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		queue(t.Context())
		queue(ctx)
		queue(t.Context())
		tooMany := func() {
			for i, kind := range bodyKinds {
				c := newPatient(t, http.MethodPost, url, kind)
				start := time.Now()
				err := []front{bare, client, retrying}[i%3].over(tr).send(c)
				pe := poolError(t, err)
				if !errors.Is(err, pool.ErrTooManyWaiters) || pe.Phase != pool.PhaseWait || pe.Timeout() || pe.BodyTouched || pe.Queued != most || time.Since(start) > soon {
					t.Errorf("%s: after %v: %#v", kind, time.Since(start), pe)
				}
				untouched(t, string(kind), c)
			}
		}
		tooMany()
		leave()
		if err := <-waiting[1]; !errors.Is(err, context.Canceled) {
			t.Errorf("who left: %v", err)
		}
		wantWaiting(t, tr, most-1)
		queue(t.Context())
		tooMany()
		for _, k := range []int{0, 2, 3} {
			letGo(t, held...)
			held = []parked{s.next(t)}
			if held[0].id != ids[k] {
				t.Errorf("request %s is served, want %s of %v", held[0].id, ids[k], ids)
			}
		}
		letGo(t, held...)
		all(t, calls[0], waiting[0], waiting[2], waiting[3])
		if n := s.conns(); n != 1 {
			t.Errorf("%d connections with a limit of 1", n)
		}
	})
}
