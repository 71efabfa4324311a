package pool

import (
	"context"
	"errors"
	"io"
	"net/http/httptrace"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestCloseIdleConnections(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		busy := s.get()
		pb := s.wantDial().finish()
		pb.wantRequest()
		other := s.get()
		idle := s.wantDial().finish()
		idle.serve("ok")
		other.wantHead()
		waiting := s.get()
		d := s.wantDial()
		waiting.cancel()
		waiting.wantError(PhaseDial, context.Canceled)
		other.wantBody("ok")

		s.tr.CloseIdleConnections()
		idle.wantClosed()
		pb.wantOpen()
		d.finish().wantClosed() // nobody waits for it, and it began before
		pb.answer("ok")
		busy.wantBody("ok")
		pb.wantClosed()
		s.wantReused(s.wantRenewed())
	})
}

func TestDrainIsForOneHost(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		p := s.exchange()
		s.tr.Drain("other.test:80")
		s.wantReused(p)
		s.tr.Drain("host.test:80")
		p.wantClosed()
		s.wantRenewed()
	})
}

func TestShutdownLetsRequestsEnd(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		a := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		b := s.get()
		done := make(chan error, 1)
		go func() { done <- s.tr.Shutdown(context.Background()) }()
		synctest.Wait()
		s.get().wantError(PhaseWait, ErrClosed)
		p.answer("a")
		a.wantBody("a")
		p.wantClosed()
		s.wantDial().finish().serve("b") // it had begun to wait before
		b.wantHead()
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v with a request under way", err)
		default:
		}
		b.wantBody("b")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownGivesUpWithItsContext(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.tr.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Shutdown returned %v", err)
		}
		a.wantPending()
		p.answer("ok")
		a.wantBody("ok")
	})
}

func TestCloseEndsEverything(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 2}, func(s *script) {
		sent := s.get()
		p1 := s.wantDial().finish()
		p1.wantRequest()
		reading := s.get()
		p2 := s.wantDial().finish()
		p2.wantRequest()
		io.WriteString(p2, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		reading.wantHead()
		waiting := s.get()
		waiting.wantPending()

		s.tr.Close()
		sent.wantError(PhaseSent, ErrClosed)
		waiting.wantError(PhaseWait, ErrClosed)
		_, err := io.ReadAll(reading.resp.Body)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Phase != PhaseResponse || !errors.Is(err, ErrClosed) {
			t.Errorf("the body ended with %v, want ErrClosed in phase response", err)
		}
		p1.wantClosed()
		p2.wantClosed()
		s.get().wantError(PhaseWait, ErrClosed)
		if err := s.tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseDuringADial(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a := s.get()
		d := s.wantDial()
		s.tr.Close()
		a.wantError(PhaseDial, ErrClosed)
		<-d.ctx.Done()
	})
}

func TestShutdownByMany(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		done := make(chan error, 3)
		for range cap(done) {
			go func() { done <- s.tr.Shutdown(context.Background()) }()
		}
		synctest.Wait()
		p.answer("ok")
		a.wantBody("ok")
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// A request that has begun may end, also if its connection has to be replaced.
func TestShutdownWaitsForAReplacement(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		s.exchange().client.FailWriteAfter(0, syscall.EPIPE)
		done := make(chan error, 1)
		ctx := httptrace.WithClientTrace(s.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			if i.Reused {
				go func() { done <- s.tr.Shutdown(context.Background()) }()
				time.Sleep(time.Millisecond)
			}
		}})
		tp := s.start(s.request("POST", nil).WithContext(ctx))
		time.Sleep(time.Millisecond)
		s.wantDial().finish().serve("ok")
		tp.wantBody("ok")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Totals only grow, also while hosts are forgotten.
func TestTotalsOnlyGrow(t *testing.T) {
	tr, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 2000 {
			h := tr.addHost(rawKey{scheme: "http", host: strconv.Itoa(i) + ".test"}, nil)
			h.given.count(false)
			tr.forget(h, time.Now(), 0)
		}
	}()
	for last := uint64(0); ; {
		sent := tr.Stats().Total.Sent
		if sent < last {
			t.Fatalf("Sent went from %d to %d", last, sent)
		}
		last = sent
		select {
		case <-done:
			return
		default:
		}
	}
}

// What isn't reused is new, also while requests are counted: the difference goes neither up nor down.
func TestReusedIsPartOfSent(t *testing.T) {
	tr, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h := tr.addHost(rawKey{scheme: "http", host: "a.test"}, nil)
	h.given.count(false)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200_000 {
			h.given.count(true)
		}
	}()
	for {
		if tot := tr.Stats().Total; tot.Sent-tot.Reused != 1 {
			t.Fatalf("%d requests, %d of them reused: one was not", tot.Sent, tot.Reused)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
