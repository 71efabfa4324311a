package pool

import (
	"context"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// twins has requests go to two hosts of one origin: HTTP/2 by prior knowledge stands for
// HTTP/2 by ALPN, which has no place in a bubble.
func twins(t *testing.T, cfg Config, f func(s *script, usual, old *host)) {
	t.Helper()
	h2Bubble(t, cfg, func(s *script) {
		raw := rawKey{scheme: "http", host: "host.test"}
		usual := s.tr.hostOf(raw, nil)
		raw.http1 = true
		old := s.tr.hostOf(raw, nil)
		usual.mu.Lock()
		usual.speaks, usual.proto = protocols{http1: true, http2: true}, protocolHTTP2
		usual.mu.Unlock()
		old.mu.Lock()
		old.speaks = protocols{http1: true}
		old.mu.Unlock()
		f(s, usual, old)
	})
}

func (s *script) upgrade() *trip {
	req := s.request("GET", nil)
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"x"}}
	return s.start(req)
}

func (s *script) wantOpenInAll(most int) {
	s.Helper()
	n := 0
	for _, h := range s.tr.Stats().Hosts {
		n += h.Open + h.Dialing
	}
	if n > most {
		s.Fatalf("%d connections, the limit is %d", n, most)
	}
}

func TestTwinsShareTheLimit(t *testing.T) {
	twins(t, Config{MaxConnsPerHost: 1}, func(s *script, usual, old *host) {
		usual.mu.Lock()
		usual.speaks.http1 = false // for prior knowledge's sake
		usual.mu.Unlock()
		a := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		usual.mu.Lock()
		usual.speaks.http1 = true
		usual.mu.Unlock()

		up := s.upgrade() // the connection in use makes room when its request is done
		s.wantNoDial()
		late := s.get()
		s.wantOpenInAll(1)
		p.answer(q)
		a.wantOK()
		d := s.wantDial()
		s.wantOpenInAll(1)
		one := d.finish()
		one.wantRequest()
		up.wantPending()
		late.wantPending()
		one.answer("no upgrade")
		up.wantHead()
		s.wantNoDial()
		usual.mu.Lock()
		usual.speaks.http1 = false
		usual.mu.Unlock()
		up.wantBody("no upgrade") // and it becomes idle, but somebody waits for its slot
		p = s.wantDial().serveH2(10)
		s.wantOpenInAll(1)
		p.serve()
		late.wantOK()
		if n := s.tr.Stats().Total.ClosedBy[ReasonMadeRoom]; n != 2 {
			t.Errorf("%d connections made room, want 2", n)
		}
		if usual.slots != old.slots || usual.slots.taken.Load() != 1 {
			t.Errorf("%d slots are taken, want 1", usual.slots.taken.Load())
		}
	})
}

// Who tries in vain mustn't keep a free slot from the other one, not even for a moment: nobody
// would tell that one later.
func TestTryingForASlotTakesNone(t *testing.T) {
	tr, err := New(Config{MaxConnsPerHost: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h := tr.hostOf(rawKey{scheme: "http", host: "host.test"}, nil)
	start, tried := make(chan struct{}), make(chan bool)
	defer close(start)
	go func() {
		for range start {
			tried <- h.takeSlot()
		}
	}()
	for range 50_000 {
		if !h.takeSlot() {
			t.Fatal("no slot, and nobody has one")
		}
		start <- struct{}{}
		h.giveSlotLocked()
		mine := h.takeSlot()
		if other := <-tried; mine == other {
			t.Fatalf("%d slots were had of one that was given back", h.slots.taken.Load())
		}
		h.giveSlotLocked()
	}
}

// speaksHTTP1 says whether a host of twins speaks that too. While it does, prior knowledge of
// HTTP/2 is none.
func (h *host) speaksHTTP1(yes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.speaks.http1 = yes
}

// A host that has a connection, which others keep from getting one more, gets what the twin has
// idle beyond one.
func TestTwinGetsWhatIsIdle(t *testing.T) {
	twins(t, Config{MaxConnsPerHost: 3}, func(s *script, usual, _ *host) {
		usual.speaksHTTP1(false)
		a, b := s.get(), s.get()
		p := s.wantDial().serveH2(1)
		q := s.wantDial().serveH2(1)
		usual.speaksHTTP1(true)
		up := s.upgrade()
		one := s.wantDial().finish()
		one.wantRequest() // it stays in use
		p.serve()
		q.serve()
		a.wantOK()
		b.wantOK()

		second := s.upgrade()
		d := s.wantDial()
		p.wantClosed()
		s.wantOpenInAll(3)
		third := s.upgrade()
		s.wantNoDial() // the last one isn't for those who have some
		q.wantOpen()
		two := d.finish()
		two.serve("second")
		second.wantBody("second")
		two.serve("third")
		third.wantBody("third")
		one.answer("up")
		up.wantBody("up")
	})
}

// A slot that comes free is for who has waited longest, whichever of the twins he waits at.
func TestTwinsTakeTurns(t *testing.T) {
	twins(t, Config{MaxConnsPerHost: 1}, func(s *script, usual, _ *host) {
		first := s.upgrade()
		one := s.wantDial().finish()
		one.wantRequest()
		time.Sleep(time.Millisecond)
		plain := s.get()
		time.Sleep(time.Millisecond)
		last := s.upgrade()
		s.wantNoDial()
		usual.speaksHTTP1(false)
		one.Close()
		first.wantError(PhaseSent, nil)
		p := s.wantDial().serveH2(10) // and not for HTTP/1
		p.serve()
		plain.wantOK()
		s.wantDial().finish().serve("last")
		last.wantBody("last")
	})
}

// A connection without HTTP/2 that was dialled before it was known that the host speaks that
// would keep answering usual requests by HTTP/1.
func TestConnectionOfHTTP1IsNotKeptOnAnHTTP2Host(t *testing.T) {
	twins(t, Config{}, func(s *script, usual, _ *host) {
		usual.mu.Lock()
		usual.proto = protocolUnknown
		usual.mu.Unlock()
		up := s.upgrade()
		one := s.wantDial()
		usual.mu.Lock()
		usual.proto = protocolHTTP2 // another dial has found out
		usual.expelLocked()
		usual.mu.Unlock()
		again := s.wantDial() // by the twin
		one.finish().wantClosed()
		again.finish().serve("up")
		up.wantBody("up")
	})
}

// Also the slot of a dial that failed is for the twin.
func TestFailedDialsSlotGoesToTheTwin(t *testing.T) {
	twins(t, Config{MaxConnsPerHost: 1}, func(s *script, usual, _ *host) {
		up := s.upgrade()
		d := s.wantDial()
		plain := s.get()
		s.wantNoDial()
		d.fail(syscall.ECONNREFUSED)
		up.wantError(PhaseDial, syscall.ECONNREFUSED)
		usual.speaksHTTP1(false)
		s.wantDial().serveH2(10).serve()
		plain.wantOK()
	})
}

// Room that was made for a request which has left is nobody's.
func TestRoomForNobodyIsGivenBack(t *testing.T) {
	twins(t, Config{MaxConnsPerHost: 1}, func(s *script, usual, _ *host) {
		usual.speaksHTTP1(false)
		a := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		usual.speaksHTTP1(true)
		up := s.upgrade()
		s.wantNoDial()
		up.cancel()
		up.wantError(PhaseWait, context.Canceled)
		p.answer(q)
		a.wantOK()
		p.wantClosed()
		s.wantNoDial()
		if n := usual.slots.taken.Load(); n != 0 {
			t.Errorf("%d slots are taken", n)
		}
	})
}
