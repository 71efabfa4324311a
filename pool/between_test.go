package pool

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// A request whose peer refused it holds nothing for a moment, until it is sent again.
func (s *script) refused() (*trip, *h2Peer) {
	s.Helper()
	tp := s.get()
	p := s.wantDial().serveH2(10)
	p.reset(p.wantRequest(), http2.ErrCodeRefusedStream)
	tp.wantPending()
	if st := s.stats(); st.InUse != 0 || st.Waiting != 0 {
		s.Fatalf("%d in use, %d waiting, want none", st.InUse, st.Waiting)
	}
	return tp, p
}

func TestShutdownWaitsForARequestBetweenConnections(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tp, _ := s.refused()
		done := make(chan error, 1)
		go func() { done <- s.tr.Shutdown(s.Context()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Shutdown has returned with a request under way: %v", err)
		default:
		}
		time.Sleep(maxPause)
		p := s.wantDial().serveH2(10)
		p.serve()
		tp.wantOK()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Shutdown also sees such a request end without a connection.
func TestShutdownSeesARequestBetweenConnectionsEnd(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tp, _ := s.refused()
		done := make(chan error, 1)
		go func() { done <- s.tr.Shutdown(s.Context()) }()
		synctest.Wait()
		tp.cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		tp.wantError(PhaseRefused, nil)
	})
}

func TestCloseEndsARequestBetweenConnections(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tp, _ := s.refused()
		s.tr.Close()
		if e := tp.wantError(PhaseWait, ErrClosed); !e.Phase.Unprocessed() {
			t.Errorf("%v", e)
		}
	})
}

// The dial for requests that are about to come ends if they don't.
func TestSpareDialEndsAfterAGrace(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(1)
		p := s.wantDial().serveH2(10)
		p.wantRequest()
		tps = append(tps, s.get())
		p.wantRequest()
		p.goAway(3, http2.ErrCodeNo)
		d := s.wantDial()
		start := time.Now()
		<-d.ctx.Done()
		if took := time.Since(start); took != orphanGrace {
			t.Errorf("it ended after %v, want %v", took, orphanGrace)
		}
		for _, tp := range tps {
			tp.cancel()
			tp.wantError(PhaseSent, context.Canceled)
		}
	})
}

// Who waits while a connection takes its last request gets a dial at once, also where there is
// to be one connection at a time.
func TestLastRequestOfAConnectionStartsADialForThoseWhoWait(t *testing.T) {
	base := &http.Transport{HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}
	h2Bubble(t, Config{Base: base, MaxRequestsPerConn: 4}, func(s *script) {
		tps := s.gets(1)
		p := s.wantDial().serveH2(2)
		p.serve()
		tps = append(tps, s.gets(4)...)
		second, third := p.wantRequest(), p.wantRequest()
		time.Sleep(2 * busyFor) // requests come seldom: no successor is dialled before
		p.answer(second)
		last := p.wantRequest()
		next := s.wantDial().serveH2(2)
		next.serve()
		p.answer(third)
		p.answer(last)
		for _, tp := range tps {
			tp.wantOK()
		}
		p.wantClosed()
	})
}
