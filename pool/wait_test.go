package pool

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewestIdleConnectionIsReusedFirst(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a, b := s.get(), s.get()
		pa, pb := s.wantDial().finish(), s.wantDial().finish()
		pa.serve("a")
		pb.serve("b")
		a.wantHead()
		b.wantHead()
		a.wantBody("a")
		b.wantBody("b") // comes back last
		tp := s.get()
		s.wantNoDial()
		pb.serve("again")
		tp.wantBody("again")
	})
}

func TestWaiterTakesWhatComesFirst(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a := s.get()
		pa := s.wantDial().finish()
		pa.serve("a")
		a.wantHead()

		b := s.get()
		d := s.wantDial()
		b.wantPending()
		a.wantBody("a") // a's connection comes free before b's dial is done
		pa.serve("b")
		b.wantBody("b")

		d.finish() // it goes idle and serves the next but one
		c1, c2 := s.get(), s.get()
		s.wantNoDial()
		d.peer.serve("c")
		pa.serve("c")
		c1.wantBody("c")
		c2.wantBody("c")
		if st := s.stats(); st.DialsUnused != 1 || st.Reused != 2 {
			t.Errorf("unused dials %d, reused %d, want 1 and 2", st.DialsUnused, st.Reused)
		}
	})
}

func TestDialOutlivesItsRequest(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a := s.get()
		d := s.wantDial()
		a.cancel()
		a.wantError(PhaseDial, context.Canceled)
		if d.ctx.Err() != nil {
			t.Error("the dial was cancelled with its request")
		}
		b := s.get()
		s.wantNoDial() // the one under way serves b
		d.finish().serve("b")
		b.wantBody("b")
	})
}

func TestDialThatNobodyWaitsForEndsAfterAGrace(t *testing.T) {
	proxied := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test:3128"})}
	for grace, cfg := range map[time.Duration]Config{
		orphanGrace:      {},
		orphanGraceProxy: {Base: proxied},
	} {
		inBubble(t, cfg, func(s *script) {
			a := s.get()
			d := s.wantDial()
			time.Sleep(time.Minute / 2)
			a.wantPending()
			left := time.Now()
			a.cancel()
			a.wantError(PhaseDial, context.Canceled)
			<-d.ctx.Done()
			if took := time.Since(left); took != grace {
				t.Errorf("the dial ended after %v, want %v", took, grace)
			}
			if st := s.stats(); st.Dialing != 0 || st.DialsFailed != 2 { // it had company
				t.Errorf("dialing %d, failed %d, want 0 and 2", st.Dialing, st.DialsFailed)
			}
		})
	}
}

// A request that comes while such a dial ends is served by another one.
func TestCutDialIsNobodysFailure(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		a := s.get()
		s.wantDial()
		a.cancel()
		a.wantError(PhaseDial, context.Canceled)
		h := s.tr.allHosts()[0]
		time.Sleep(orphanGrace - time.Nanosecond)
		h.mu.Lock() // so that the cut and b's wait come before the dial's end is noted
		b := make(chan *trip)
		go func() { b <- s.get() }()
		for c := range h.conns {
			h.cutLocked(c)
		}
		h.mu.Unlock()
		tp := <-b
		s.wantDial().finish().serve("ok")
		tp.wantBody("ok")
	})
}

// Dials to a host that hangs are no more than the requests that wait, and those that
// have their grace.
func TestHangingDialsDoNotPileUp(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		for range 100 {
			ctx, cancel := context.WithTimeout(s.Context(), 20*time.Millisecond)
			tp := s.start(s.request("GET", nil).WithContext(ctx))
			<-tp.done
			cancel()
			tp.wantError(PhaseDial, context.DeadlineExceeded)
		}
		if st := s.stats(); st.Dials > 2 || st.Waiting != 0 {
			t.Errorf("%d dials for requests that came one after the other, %d waiting", st.Dials, st.Waiting)
		}
	})
}

func TestLimitIsKeptAndWaitersAreServedInOrder(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		first := s.get()
		p := s.wantDial().finish()
		var trips []*trip
		for range 5 {
			trips = append(trips, s.get())
		}
		s.wantNoDial()
		p.serve("0")
		first.wantBody("0")
		for i, tp := range trips {
			for _, later := range trips[i+1:] {
				later.wantPending()
			}
			p.serve("n")
			tp.wantBody("n")
		}
	})
}

func TestWaitDeadline(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWait: 100 * time.Millisecond}, func(s *script) {
		first := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		start := time.Now()
		late := s.get()
		<-late.done
		e := late.wantError(PhaseWait, ErrWaitTimeout)
		if took := time.Since(start); took != 100*time.Millisecond || e.Waited != took || e.Queued != 1 {
			t.Errorf("failed after %v with %+v, want 100ms", took, e)
		}
		if !e.Timeout() || !e.Phase.Unprocessed() {
			t.Error("a wait that timed out is a timeout, and the request unprocessed")
		}
		if st := s.stats(); st.Waiting != 0 || st.WaitTimeouts != 1 {
			t.Errorf("waiting %d, timeouts %d, want 0 and 1", st.Waiting, st.WaitTimeouts)
		}
		p.answer("ok")
		first.wantBody("ok")
	})
}

func TestContextThatEndsFirstGivesItsOwnError(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWait: time.Second}, func(s *script) {
		first := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		cause := errors.New("changed my mind")
		ctx, cancel := context.WithTimeoutCause(s.Context(), 50*time.Millisecond, cause)
		defer cancel()
		tp := s.start(s.request("GET", nil).WithContext(ctx))
		<-tp.done
		tp.wantError(PhaseWait, cause)
		p.answer("ok")
		first.wantBody("ok")
	})
}

func TestTooManyWaiters(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWaiters: 2}, func(s *script) {
		trips := []*trip{s.get()}
		p := s.wantDial().finish()
		p.wantRequest()
		trips = append(trips, s.get(), s.get())
		e := s.get().wantError(PhaseWait, ErrTooManyWaiters)
		if e.Queued != 2 || e.Timeout() {
			t.Errorf("%+v, want a queue of 2 and no timeout", e)
		}
		p.answer("ok")
		trips[0].wantBody("ok")
		for _, tp := range trips[1:] {
			p.serve("ok")
			tp.wantBody("ok")
		}
	})
}

// In a cold burst those wait for capacity who are more than the limit will serve, and not those
// whose dial is held back for now.
func TestTooManyWaitersBehindTheDialWindow(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 2 * firstDials, MaxWaiters: 2}, func(s *script) {
		trips := s.gets(2*firstDials + 2)
		if st := s.stats(); st.Dialing != firstDials || st.Waiting != len(trips) {
			t.Fatalf("%d dials and %d waiters, want %d and %d", st.Dialing, st.Waiting, firstDials, len(trips))
		}
		e := s.get().wantError(PhaseWait, ErrTooManyWaiters)
		if e.Queued != len(trips) {
			t.Errorf("Queued is %d, want %d", e.Queued, len(trips))
		}
		d := s.wantDial()
		trips[0].cancel()
		trips[1].cancel()
		synctest.Wait()
		more := s.gets(2)
		s.get().wantError(PhaseWait, ErrTooManyWaiters)
		d.fail(syscall.ECONNREFUSED)
		for _, tp := range append(trips, more...) {
			tp.cancel()
		}
	})
}

// While a dial is all there is to wait for, its own limits end the wait and not MaxWait.
func TestHangingDialIsNoWaitForCapacity(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWait: 100 * time.Millisecond}, func(s *script) {
		a, b := s.get(), s.get()
		d := s.wantDial()
		time.Sleep(time.Second)
		a.wantPending()
		b.wantPending()
		d.fail(syscall.ETIMEDOUT)
		a.wantError(PhaseDial, syscall.ETIMEDOUT)
		b.wantError(PhaseDial, syscall.ETIMEDOUT)
		s.wantNoDial()
	})
}

func TestFailedDialTellsAllWhoWaitedForIt(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		early := []*trip{s.get(), s.get(), s.get()}
		d := s.wantDial()
		// These came in the same moment as the dial began; the next come later.
		time.Sleep(time.Millisecond)
		late := []*trip{s.get(), s.get()}
		d.fail(syscall.ECONNREFUSED)
		for _, tp := range early {
			tp.wantError(PhaseDial, syscall.ECONNREFUSED)
		}
		d = s.wantDial() // one, for both
		p := d.finish()
		p.serve("ok")
		late[0].wantHead()
		late[1].wantPending()
		late[0].wantBody("ok")
		p.serve("ok")
		late[1].wantBody("ok")
	})
}

// With a connection in use the others may still be served by it.
func TestFailedDialFailsOneWhileOthersHaveHope(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 2}, func(s *script) {
		a := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		b, c := s.get(), s.get()
		s.wantDial().fail(syscall.ECONNREFUSED)
		d := s.wantDial()
		b.wantError(PhaseDial, syscall.ECONNREFUSED)
		p.answer("a")
		a.wantBody("a")
		p.serve("ok")
		c.wantBody("ok")
		d.fail(syscall.ECONNREFUSED)
	})
}

func TestCancelledWaiterLeavesNothingBehind(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		a := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		b, c := s.get(), s.get()
		b.cancel()
		b.wantError(PhaseWait, context.Canceled)
		p.answer("a")
		a.wantBody("a")
		p.serve("c")
		c.wantBody("c")
	})
}

func TestRequestWithDeadContextTouchesNothing(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		s.start(s.request("GET", nil).WithContext(ctx)).wantError(PhaseWait, context.Canceled)
		s.wantNoDial()
	})
}

func TestPerHostOverride(t *testing.T) {
	cfg := Config{Hosts: map[string]HostConfig{"Host.Test:80": {MaxConnsPerHost: 1, MaxWaiters: 1}}}
	inBubble(t, cfg, func(s *script) {
		a := s.get()
		p := s.wantDial().finish()
		b := s.get()
		s.wantNoDial()
		s.get().wantError(PhaseWait, ErrTooManyWaiters)

		req := s.request("GET", nil)
		req.URL.Host = "other.test"
		other := s.start(req)
		s.wantDial().finish().serve("o")
		other.wantBody("o")

		p.serve("a")
		a.wantBody("a")
		p.serve("b")
		b.wantBody("b")
	})
}

// A waiter that wakes late, on a machine that is too busy, must not send on what has
// grown too old since it was handed over.
func TestDeliveredConnectionIsJudgedAgain(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: time.Second}, func(s *script) {
		p := s.exchange()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		c, _ := h.pickLocked(wish{}, time.Now()) // as if it lay in a waiter's channel
		h.holdLocked(c)
		h.mu.Unlock()
		time.Sleep(time.Second)
		if g, err := h.admit(grant{c: c, reused: true}, &wish{}); g.c != nil || err != nil {
			t.Errorf("got %+v, %v, want none", g, err)
		}
		p.wantClosed()
		if st := s.stats(); st.ClosedBy[ReasonIdleLimit] != 1 {
			t.Errorf("closed by %v", st.ClosedBy)
		}
	})
}

// A dial under way suspends MaxWait, and doesn't end it.
func TestMaxWaitHoldsAfterADialForAnother(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWait: 100 * time.Millisecond}, func(s *script) {
		a, b := s.get(), s.get()
		d := s.wantDial()
		time.Sleep(150 * time.Millisecond)
		p := d.finish() // it serves a, which keeps it
		p.wantRequest()
		<-b.done
		b.wantError(PhaseWait, ErrWaitTimeout)
		p.answer("ok")
		a.wantBody("ok")
	})
}

// A request whose stale connection has to be replaced was the oldest, and stays it.
func TestReplacedRequestKeepsItsPlace(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWait: 100 * time.Millisecond}, func(s *script) {
		before := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		first, second := s.get(), s.get()
		time.Sleep(90 * time.Millisecond)
		p.answer("ok")
		p.client.FailWriteAfter(0, syscall.EPIPE)
		before.wantBody("ok") // its connection goes to first, whose write takes nothing
		p = s.wantDial().finish()
		p.serve("1")
		first.wantBody("1")
		p.serve("2")
		second.wantBody("2")
	})
}

func TestDialWhoseWaiterWasServedEndsAfterAGrace(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		b := s.get()
		d := s.wantDial()
		p.answer("a")
		a.wantBody("a")
		p.serve("b")
		b.wantBody("b")
		start := time.Now()
		<-d.ctx.Done()
		if took := time.Since(start); took != orphanGrace {
			t.Errorf("the dial ended after %v, want %v", took, orphanGrace)
		}
	})
}
