package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A guardDial is a DialContext under way.
type guardDial struct {
	done   chan error
	conn   net.Conn
	cancel context.CancelFunc
}

// start dials, and waits until that has come to rest.
func (s *guarded) start() *guardDial {
	ctx, cancel := context.WithCancel(s.Context())
	d := &guardDial{done: make(chan error, 1), cancel: cancel}
	go func() {
		var err error
		d.conn, err = s.g.DialContext(ctx, "tcp", "a.test:80")
		d.done <- err
	}()
	synctest.Wait()
	return d
}

// over returns the dial's result; wanted to be there already.
func (d *guardDial) over(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-d.done:
		d.cancel()
		return err
	default:
		t.Fatal("the dial still waits")
		return nil
	}
}

func (d *guardDial) wantWaiting(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if len(d.done) != 0 {
		t.Fatalf("the dial doesn't wait: %v", <-d.done)
	}
}

func (s *guarded) wantGauges(open, waiting int) {
	s.Helper()
	synctest.Wait()
	h := s.g.Stats().Hosts[0]
	if h.Open != open || h.Waiting != waiting || h.Dialing != 0 {
		s.Errorf("%d open, %d waiting, %d dialing; want %d and %d", h.Open, h.Waiting, h.Dialing, open, waiting)
	}
}

func TestGuardServesWaitersInOrder(t *testing.T) {
	guardBubble(t, GuardConfig{MaxConnsPerHost: 2}, func(s *guarded) {
		held := []net.Conn{s.open(), s.open()}
		var waiting []*guardDial
		for range 5 {
			waiting = append(waiting, s.start())
		}
		s.wantGauges(2, 5)
		for i, d := range waiting {
			d.wantWaiting(t)
			held[0].Close()
			held[0].Close() // gives nothing back
			if err := d.over(t); err != nil {
				t.Fatalf("dial %d: %v", i, err)
			}
			held = append(held[1:], d.conn)
			s.wantGauges(2, 4-i)
		}
		for _, c := range held {
			c.Close()
		}
		if tot := s.g.Stats().Total; tot.Waited != 5 || tot.WaitTimeouts != 0 {
			t.Errorf("%+v", tot)
		}
	})
}

func TestGuardWaitDeadline(t *testing.T) {
	guardBubble(t, GuardConfig{MaxConnsPerHost: 1, MaxWait: 3 * time.Second, MaxWaiters: 2}, func(s *guarded) {
		c := s.open()
		first := s.start()
		time.Sleep(time.Second)
		second := s.start()
		err := s.start().over(t)
		if e := waitErrorOf(t, err); !errors.Is(err, ErrTooManyWaiters) || e.Queued != 2 {
			t.Errorf("%v, %+v", err, e)
		}
		time.Sleep(2*time.Second - 1)
		first.wantWaiting(t)
		time.Sleep(time.Nanosecond)
		err = first.over(t)
		e := waitErrorOf(t, err)
		if !errors.Is(err, ErrWaitTimeout) || !e.Timeout() || e.Waited != 3*time.Second || e.Queued != 2 || e.Host != "a.test:80" {
			t.Errorf("%+v", e)
		}
		c.Close()
		if err := second.over(t); err != nil {
			t.Error(err)
		}
		second.conn.Close()
		if tot := s.g.Stats().Total; tot.Waited != 2 || tot.WaitTimeouts != 2 || tot.WaitTime != 5*time.Second {
			t.Errorf("%+v", tot)
		}
	})
}

// waitErrorOf is err's *Error, of PhaseWait.
func waitErrorOf(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Phase != PhaseWait {
		t.Fatalf("got %#v", err)
	}
	return e
}

func TestGuardWaitEndsWithItsContext(t *testing.T) {
	guardBubble(t, GuardConfig{MaxConnsPerHost: 1}, func(s *guarded) {
		c := s.open()
		d := s.start()
		d.cancel()
		if err := d.over(t); waitErrorOf(t, err).Queued != 1 || !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.wantGauges(1, 0)
		c.Close()
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		if _, err := s.g.DialContext(ended, "tcp", "a.test:80"); !errors.Is(waitErrorOf(t, err), context.Canceled) {
			t.Error(err)
		}
		s.wantGauges(0, 0)
	})
}

// Failed dials, refusals, deadlines and cancels in any order lose no slot and serve all.
func TestGuardStorm(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cfg := GuardConfig{MaxConnsPerHost: 3, MaxWait: 400 * time.Millisecond, MaxWaiters: 50, ProxyIdleTimeout: 200 * time.Millisecond}
			guardBubble(t, cfg, func(s *guarded) { s.storm(rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func (s *guarded) storm(rng *rand.Rand) {
	var wg sync.WaitGroup
	for range 200 {
		wait, hold, life := time.Duration(rng.IntN(1000)), time.Duration(rng.IntN(100)), time.Duration(rng.IntN(1000))
		wg.Go(func() {
			time.Sleep(wait * time.Millisecond)
			ctx, cancel := context.WithTimeout(s.Context(), life*time.Millisecond)
			defer cancel()
			c, err := s.g.DialContext(ctx, "tcp", "a.test:80")
			if err != nil {
				return
			}
			defer c.Close()
			if h := s.g.Stats().Hosts[0]; h.Open+h.Dialing > 3 {
				s.Errorf("%d open and %d dialing beyond the limit", h.Open, h.Dialing)
			}
			time.Sleep(hold * time.Millisecond)
			c.Write([]byte(getHead))
		})
	}
	wg.Wait()
	c := []*guardPair{s.fresh(), s.fresh(), s.fresh()}
	s.start().cancel()
	for _, c := range c {
		c.Close()
	}
}

// fresh is open after a storm has left servers behind.
func (s *guarded) fresh() *guardPair {
	for len(s.servers) > 0 {
		<-s.servers
	}
	return s.open()
}
