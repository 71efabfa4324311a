package scenario

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// holding answers a request when the test lets it.
func holding(c *peerConn) {
	for q, err := c.request(); err == nil; q, err = c.request() {
		select {
		case <-c.peer.gate:
		case <-c.peer.over:
			return
		}
		if c.answer(q) != nil {
			return
		}
	}
}

// occupy sends n requests that the peer holds, and returns when it has them. The call
// it returns lets them go and waits for them.
func occupy(t *testing.T, tr *pool.Transport, p *rawPeer, n int) (release func()) {
	t.Helper()
	before := p.received()
	done := make(chan error, n)
	for range n {
		go func() { done <- doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodGet, p.url, noBody)) }()
	}
	if !within(5*time.Second, func() bool { return p.received() == before+n }) {
		t.Fatalf("the peer got %d requests of %d", p.received()-before, n)
	}
	return func() {
		t.Helper()
		for range n {
			p.gate <- struct{}{}
		}
		for range n {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}

// Waiting for a slot has an error of its own, which proves that nothing was sent.
func TestAWaitForASlotEndsInTime(t *testing.T) {
	const wait, deadline = 200 * time.Millisecond, 80 * time.Millisecond
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(holding)
		tr := r.pool(pool.Config{MaxConnsPerHost: 2, MaxWait: wait})
		release := occupy(t, tr, p, 2)
		together(3*len(bodyKinds), func(i int) {
			kind := bodyKinds[i%len(bodyKinds)]
			ctx, limit, want := t.Context(), wait, pool.ErrWaitTimeout
			do, start := doer(tr.RoundTrip), time.Now()
			switch i / len(bodyKinds) {
			case 1:
				c, cancel := context.WithTimeout(ctx, deadline)
				defer cancel()
				ctx, limit, want = c, deadline, context.DeadlineExceeded
			case 2:
				do = (&http.Client{Transport: tr, Timeout: deadline}).Do
				limit, want = deadline, context.DeadlineExceeded
			}
			c := newCall(ctx, http.MethodPost, p.url, kind)
			err := do.send(c)
			took := time.Since(start)
			if c.body != nil && c.body.reads.Load() != 0 {
				t.Errorf("the body was read %d times", c.body.reads.Load())
			}
			if err := c.body.misuse(); err != nil {
				t.Error(err)
			}
			if took < limit || took > limit+time.Second || !os.IsTimeout(err) || !errors.Is(err, want) {
				t.Errorf("%s: after %v, with a limit of %v: %v", kind, took, limit, err)
			}
			if i/len(bodyKinds) == 2 {
				return // a Client with a Timeout hides all but that
			}
			pe := poolError(t, err)
			if pe.Phase != pool.PhaseWait || !pe.Phase.Unprocessed() || errors.Is(err, pool.ErrWaitTimeout) != (want == pool.ErrWaitTimeout) || !pe.Timeout() || pe.BodyTouched || pe.Sent != 0 || pe.Reused || pe.Queued < 1 {
				t.Errorf("%s: error %#v (%v)", kind, pe, err)
			}
			if pe.Waited > took || pe.Waited < limit-10*time.Millisecond {
				t.Errorf("%s: it took %v, waited %v, with a limit of %v", kind, took, pe.Waited, limit)
			}
		})
		if g := gauges(tr); g != (counts{Open: 2, InUse: 2}) {
			t.Errorf("with all waits over: %+v", g)
		}
		release()
		if n := tr.Stats().Total.WaitTimeouts; n != uint64(len(bodyKinds)) {
			t.Errorf("%d wait timeouts counted, want %d", n, len(bodyKinds))
		}
		if p.received() != 2 || p.conns() != 2 {
			t.Errorf("%d requests on %d connections", p.received(), p.conns())
		}
	})
}

// Who waits longest is served first, and who has left takes nothing with him.
func TestWaitersAreServedInTheirOrder(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		const n = 12
		p := r.peer(holding)
		tr := r.pool(pool.Config{MaxConnsPerHost: 1})
		release := occupy(t, tr, p, 1)
		var order []int
		done := make(chan error, n)
		turn := make(chan int, n)
		ctx, leave := context.WithCancel(t.Context())
		for i := range n {
			go func() {
				ctx := ctx
				if i%3 != 0 {
					ctx = t.Context()
				}
				err := doer(tr.RoundTrip).send(newCall(ctx, http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)]))
				if err == nil {
					turn <- i
				}
				done <- err
			}()
			if !within(5*time.Second, func() bool { return gauges(tr).Waiting == i+1 }) {
				t.Fatalf("%d waiting", gauges(tr).Waiting)
			}
		}
		leave()
		for range n / 3 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("one that left: %v", err)
			}
		}
		if w := gauges(tr).Waiting; w != n-n/3 {
			t.Errorf("%d wait, with %d gone of %d", w, n/3, n)
		}
		release()
		for range n - n/3 {
			p.gate <- struct{}{}
			if err := <-done; err != nil {
				t.Error(err)
				continue
			}
			order = append(order, <-turn)
		}
		for k, i := range order {
			if want := k/2*3 + k%2 + 1; i != want {
				t.Fatalf("served in the order %v", order)
			}
		}
		if p.conns() != 1 {
			t.Errorf("%d connections with a limit of 1", p.conns())
		}
	})
}

func TestOneWaiterTooManyFailsAtOnce(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(holding)
		tr := r.pool(pool.Config{MaxConnsPerHost: 1, MaxWaiters: 1})
		release := occupy(t, tr, p, 1)
		waiting := make(chan error, 1)
		go func() { waiting <- doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodGet, p.url, noBody)) }()
		if !within(5*time.Second, func() bool { return gauges(tr).Waiting == 1 }) {
			t.Fatal("nobody waits")
		}
		for _, kind := range bodyKinds {
			c := newCall(t.Context(), http.MethodPost, p.url, kind)
			err := doer(tr.RoundTrip).send(c)
			if pe := poolError(t, err); !errors.Is(err, pool.ErrTooManyWaiters) || pe.Phase != pool.PhaseWait || pe.Timeout() || pe.BodyTouched {
				t.Errorf("%s: %#v", kind, pe)
			}
			if err := c.body.misuse(); err != nil {
				t.Error(err)
			}
		}
		release()
		p.gate <- struct{}{}
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	})
}

// Where no connection can be made, everyone learns that: nobody waits for a slot of
// which none is in use.
func TestAHostThatCantBeReachedIsNoFullHost(t *testing.T) {
	const connect = 50 * time.Millisecond
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer((*peerConn).serve)
		var dials, most, at atomic.Int64
		hang := func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
			dials.Add(1)
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
		tr := r.pool(pool.Config{
			MaxConnsPerHost: 1, MaxWait: 2 * connect,
			Dialer: &dialer.Dialer{ConnectTimeout: connect, ControlContext: hang},
		})
		together(20, func(i int) {
			c := newCall(t.Context(), http.MethodPost, p.url, bodyKinds[i%len(bodyKinds)])
			err := fronts[i%3].over(tr).send(c)
			pe := poolError(t, err)
			de, ok := errors.AsType[*dialer.Error](err)
			if pe.Phase != pool.PhaseDial || errors.Is(err, pool.ErrWaitTimeout) || !ok || de.Stage != dialer.StageConnect || !pe.Timeout() {
				t.Errorf("%#v", pe)
			}
			if c.body != nil && c.body.reads.Load() != 0 {
				t.Errorf("the body was read %d times", c.body.reads.Load())
			}
		})
		if most.Load() != 1 || dials.Load() > 20 {
			t.Errorf("%d dials, %d at a time", dials.Load(), most.Load())
		}
		if p.conns() != 0 {
			t.Errorf("%d connections", p.conns())
		}
	})
}

// A descriptor or a port can't be had: that is a failed dial like any other, and retries
// don't turn it into a hot loop.
func TestALackOfPortsOrDescriptorsIsAFailedDial(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS} {
		t.Run(errno.Error(), func(t *testing.T) {
			r := newRig(t, plain)
			fail := func(string, string, syscall.RawConn) error { return errno }
			tr := r.pool(pool.Config{Dialer: &dialer.Dialer{Control: fail}})
			for _, f := range fronts {
				before := tr.Stats().Total.Dials
				c := newCall(t.Context(), http.MethodPost, "http://127.0.0.1:9", oneShot)
				start := time.Now()
				err := f.over(tr).send(c)
				took := time.Since(start)
				if pe := poolError(t, err); pe.Phase != pool.PhaseDial || !errors.Is(err, errno) || pe.BodyTouched {
					t.Errorf("%s: %#v", f.name, pe)
				}
				dials := tr.Stats().Total.Dials - before
				if f.name == retrying.name {
					if dials > 3 || time.Duration(dials-1)*100*time.Millisecond > took {
						t.Errorf("%d dials in %v", dials, took)
					}
				} else if dials != 1 {
					t.Errorf("%s: %d dials", f.name, dials)
				}
				if c.body.reads.Load() != 0 || c.body.misuse() != nil {
					t.Errorf("%s: %d reads, %v", f.name, c.body.reads.Load(), c.body.misuse())
				}
			}
		})
	}
}
