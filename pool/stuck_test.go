package pool

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// over ends the requests that a test has left.
func (s *script) over(trips ...*trip) {
	for _, tp := range trips {
		tp.cancel()
	}
}

// wantCut checks that the dial has been ended by now, or hasn't.
func (d *scriptDial) wantCut(want bool) {
	d.s.Helper()
	synctest.Wait()
	if got := d.ctx.Err() != nil; got != want {
		d.s.Errorf("the dial was cut: %t, want %t", got, want)
	}
}

// A dial that is overtaken by one that began later hangs. It counts neither for a request that
// waits nor in the limit, once it is slow.
func TestStuckDialIsReplaced(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 2}, func(s *script) {
		a := s.get()
		hung := s.wantDial()
		time.Sleep(time.Millisecond)
		b := s.get()
		p := s.wantDial().finish() // serves the oldest
		p.answer("ok")
		a.wantHead()
		s.wantNoDial() // hung may serve b yet
		time.Sleep(slowDial - 2*time.Millisecond)
		hung.wantCut(false)
		time.Sleep(time.Millisecond)
		hung.wantCut(true)
		s.wantDial().finish().serve("b")
		b.wantBody("b")
		s.over(a)
	})
}

// So it is if the success comes when the dial is slow already.
func TestStuckDialIsReplacedWhenOthersComeThrough(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		trips := s.crowd(3)
		hung := s.wantDials(3)
		time.Sleep(slowDial)
		for _, d := range hung {
			d.wantCut(false) // none is known to be any better
		}
		company := s.wantDials(1)
		company[0].finish().serve("ok")
		trips[0].wantBody("ok")
		for _, d := range hung {
			d.wantCut(true)
		}
		s.over(trips...)
	})
}

// Where dials take long, being late is no sign that one hangs.
func TestSlowDialsAreWaitedForWhereAllAreSlow(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		const takes = 3 * slowDial
		a := s.get()
		late := s.wantDial()
		time.Sleep(takes)
		s.wantDial().finish().serve("a") // its company
		a.wantBody("a")
		late.wantCut(false)
		late.finish()
		b, c, d := s.get(), s.get(), s.get()
		slow := s.wantDial()
		time.Sleep(time.Millisecond)
		e := s.get()
		next := s.wantDial()
		time.Sleep(takes)
		next.finish().answer("ok")
		slow.wantCut(false)
		s.over(b, c, d, e)
	})
}

// Dials that hang don't keep the window closed, and a host for which all hang gets no more than
// one dial in a second beside those that hang already, and no more than a few in all.
func TestHangingDialsLeaveTheWindowOpen(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		for range 10 { // so that one may be in flight
			tp := s.get()
			s.wantDial().fail(syscall.ECONNREFUSED)
			tp.wantError(PhaseDial, syscall.ECONNREFUSED)
		}
		trips := s.crowd(2 * firstDials)
		for n := 1; n <= firstDials; n++ {
			if begun := len(s.dialsUnderWay()); begun != 1 {
				t.Fatalf("%d more dials with %d that hang, want 1", begun, n-1)
			}
			time.Sleep(slowDial)
		}
		time.Sleep(2 * slowDial)
		s.wantNoDial()
		s.over(trips...)
	})
}
