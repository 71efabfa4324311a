package pool

import (
	"net/http"
	"testing"
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
