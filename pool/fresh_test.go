package pool

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/health"
)

// laterFresh is a GET that prefers connections opened from now on. In a bubble that needs a
// tick of the clock on both sides: a connection of the same moment counts as old.
func (s *script) laterFresh() context.Context {
	time.Sleep(time.Nanosecond)
	ctx := PreferFresh(s.Context())
	time.Sleep(time.Nanosecond)
	return ctx
}

func (s *script) getIn(ctx context.Context) *trip {
	return s.start(s.request("GET", nil).WithContext(ctx))
}

// wantOn is the trip's answer, which p gives, with no dial under way.
func (tp *trip) wantOn(p *peerConn) {
	tp.s.Helper()
	tp.s.wantNoDial()
	p.serve("ok")
	tp.wantBody("ok")
}

func TestPreferFreshDials(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		old := s.exchange()
		ctx := s.laterFresh()
		tp := s.getIn(ctx)
		fresh := s.wantDial().finish()
		fresh.serve("ok")
		tp.wantBody("ok")
		old.wantOpen()
		if st := s.stats(); st.Idle != 2 || st.DialsUnused != 0 {
			t.Errorf("%d idle, %d dials unused", st.Idle, st.DialsUnused)
		}
		// The old one becomes the one that was used last, and is passed over nevertheless.
		a, b := s.get(), s.get() // on the fresh one, and on the old one
		fresh.serve("ok")
		a.wantBody("ok")
		time.Sleep(time.Millisecond)
		b.wantOn(old)
		s.getIn(ctx).wantOn(fresh)
		s.wantReused(fresh)
		// What was fresh for that isn't for a call that comes later.
		tp = s.getIn(s.laterFresh())
		s.wantDial().finish().serve("ok")
		tp.wantBody("ok")
	})
}

// Where no dial is to be had it's as if the preference hadn't been said.
func TestPreferFreshTakesWhatItGets(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg   Config
		stand func(*host) // in the way of a dial
	}{
		"the limit": {cfg: Config{MaxConnsPerHost: 1, MaxWait: time.Second}},
		"a pause":   {stand: func(h *host) { h.dialNotBefore = time.Now().Add(time.Minute) }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tt.cfg, func(s *script) {
				p := s.exchange()
				if tt.stand != nil {
					h := s.tr.allHosts()[0]
					h.mu.Lock()
					tt.stand(h)
					h.mu.Unlock()
				}
				s.getIn(s.laterFresh()).wantOn(p)
			})
		})
	}
}

// The dial window holds back the second one.
func TestPreferFreshAndTheDialWindow(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		old := s.exchange()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		h.window.limit = 1
		h.mu.Unlock()
		ctx := s.laterFresh()
		first := s.getIn(ctx)
		d := s.wantDial()
		s.getIn(ctx).wantOn(old)
		first.wantOn(old) // it came free
		d.finish()
	})
}

// Under the limit an idle connection that is old is neither closed nor waited for, and a slot
// that is free is used.
func TestPreferFreshAtTheLimit(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 2}, func(s *script) {
		busy := s.get()
		pBusy := s.wantDial().finish()
		old := s.exchange()
		s.getIn(s.laterFresh()).wantOn(old)
		old.CloseWrite() // as the loss of one does, this leaves room
		old.wantClosed()
		pBusy.serve("ok")
		busy.wantBody("ok")
		tp := s.getIn(s.laterFresh())
		s.wantDial().finish().serve("ok")
		tp.wantBody("ok")
		pBusy.wantOpen()
	})
}

// A deadConn is found dead by the look before its first request.
type deadConn struct{ net.Conn }

func (deadConn) Look() (health.Verdict, error) { return health.Dead, io.EOF }

// A preference fails nothing: not by its dial, and not by what that has opened.
func TestPreferFreshSettles(t *testing.T) {
	for name, end := range map[string]func(*script, *trip, *scriptDial){
		"the dial fails": func(_ *script, _ *trip, d *scriptDial) { d.fail(syscall.ECONNREFUSED) },
		"the dial takes long": func(s *script, tp *trip, d *scriptDial) {
			time.Sleep(slowDial - 1)
			tp.wantPending()
			time.Sleep(time.Nanosecond)
		},
		"the connection is dead": func(_ *script, _ *trip, d *scriptDial) {
			d.conn = deadConn{d.conn}
			d.finish()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{MaxWait: 10 * time.Millisecond}, func(s *script) {
				old := s.exchange()
				tp := s.getIn(s.laterFresh())
				d := s.wantDial()
				end(s, tp, d)
				tp.wantOn(old)
				d.done <- errors.New("too late")
			})
		})
	}
}

// Without anything to settle for it has the dial's error, as all have.
func TestPreferFreshHasTheErrorOfItsDial(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		old := s.exchange()
		tp := s.getIn(s.laterFresh())
		d := s.wantDial()
		old.CloseWrite()
		old.wantClosed()
		d.fail(syscall.ECONNREFUSED)
		tp.wantError(PhaseDial, syscall.ECONNREFUSED)
	})
}

// The dial is no reason to wait for it: a connection that comes free meanwhile has just been
// answered on.
func TestPreferFreshTakesWhatComesFree(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		busy := s.get()
		pBusy := s.wantDial().finish()
		old := s.exchange()
		tp := s.getIn(s.laterFresh())
		d := s.wantDial()
		pBusy.serve("ok")
		busy.wantBody("ok")
		tp.wantOn(pBusy)
		d.finish()
		if st := s.stats(); st.Idle != 3 {
			t.Errorf("%d idle, want 3", st.Idle)
		}
		old.wantOpen()
	})
}

// A dial that its own request has left is as good as another.
func TestPreferFreshUsesADialUnderWay(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		old := s.get()
		pOld := s.wantDial().finish()
		gone := s.get()
		d := s.wantDial()
		gone.cancel()
		gone.wantError(PhaseDial, context.Canceled)
		pOld.serve("ok")
		old.wantBody("ok")

		ctx := s.laterFresh()
		a := s.getIn(ctx)
		s.wantNoDial() // that one is as good
		b := s.getIn(ctx)
		d2 := s.wantDial()
		a.wantPending()
		p := d.finish()
		p.serve("ok")
		a.wantBody("ok")
		b.wantOn(p) // it came free
		d2.fail(syscall.ECONNREFUSED)
		s.wantReused(p)
	})
}

func TestPreferFreshThatIsCancelled(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		old := s.exchange()
		tp := s.getIn(s.laterFresh())
		d := s.wantDial()
		tp.cancel()
		tp.wantError(PhaseDial, context.Canceled)
		s.wantReused(old)
		d.finish()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.queue.choosy != 0 {
			t.Errorf("%d are counted as waiting for better", h.queue.choosy)
		}
	})
}

// What it is sent back to is for the next look to refuse, also if its time is over by then.
func TestSettlingIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ws := wish{ctx: ctx, taste: &taste{fresh: time.Now()}}
	if !(&host{}).settles(&ws, errSettle) || ws.taste != nil {
		t.Error("it would be the caller's")
	}
}

// Both preferences are counted with: the one that meets both, a dial, an address that isn't
// avoided, a fresh one.
func TestPreferencesInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, now := &host{t: &Transport{set: &settings{}}, slots: &slots{}, proto: protocolHTTP1}, time.Now()
		h.cfg.MaxConnsPerHost = 1
		h.slots.taken.Store(1) // no dial
		ws := wish{taste: &taste{avoid: []string{"bad"}, fresh: now}}
		limits := idleLimits{}
		h.limits.Store(&limits)
		conns := map[string]*conn{
			"old, avoided":     {h: h, addr: "bad", opened: now},
			"fresh, avoided":   {h: h, addr: "bad", opened: now.Add(1)},
			"old, elsewhere":   {h: h, addr: "good", opened: now},
			"fresh, elsewhere": {h: h, addr: "good", opened: now.Add(1)},
		}
		for _, tt := range []struct {
			idle []string
			want string
		}{
			{[]string{"fresh, elsewhere", "old, elsewhere", "fresh, avoided", "old, avoided"}, "fresh, elsewhere"},
			{[]string{"old, elsewhere", "fresh, avoided", "old, avoided"}, "old, elsewhere"},
			{[]string{"fresh, avoided", "old, avoided"}, "fresh, avoided"},
			{[]string{"old, avoided"}, "old, avoided"},
		} {
			h.idle = nil
			for _, name := range tt.idle {
				h.idle = append(h.idle, conns[name])
			}
			h.t.idle.Store(int64(len(h.idle)))
			c, wasIdle := h.pickLocked(ws, now.Add(2))
			if c != conns[tt.want] || !wasIdle || len(h.idle) != len(tt.idle)-1 {
				t.Errorf("of %v it isn't %q", tt.idle, tt.want)
			}
		}
	})
}
