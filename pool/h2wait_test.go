package pool

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A connection that many had waited for turns out to be no good for them: they get the next
// one in the order in which they came.
func TestWaitersKeepTheirOrderWhenRefused(t *testing.T) {
	h2Bubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		tps := s.gets(6)
		p := s.wantDial().serveH2(4)
		for range 4 {
			p.wantRequest()
		}
		p.goAway(0, http2.ErrCodeNo)
		p.wantClosed()
		time.Sleep(time.Second) // others would be replaced with a delay
		d := s.wantDial()
		p = d.serveH2(1)
		for i, tp := range tps {
			p.serve()
			tp.wantOK()
			for _, later := range tps[i+1:] {
				later.wantPending()
			}
		}
	})
}

// What counts for MaxWait is the time in the queue, not the time on a connection whose peer
// refused the request in the end.
func TestMaxWaitAfterARefusal(t *testing.T) {
	h2Bubble(t, Config{MaxConnsPerHost: 1, MaxWait: time.Second}, func(s *script) {
		tps := s.gets(2)
		d := s.wantDial()
		time.Sleep(300 * time.Millisecond)
		p := d.serveH2(2)
		first := p.wantRequest()
		p.wantRequest()
		time.Sleep(10 * time.Second)
		p.goAway(first.Stream, http2.ErrCodeNo)
		time.Sleep(500 * time.Millisecond)
		tps[1].wantPending()
		if st := s.stats(); st.WaitTime != 600*time.Millisecond {
			t.Errorf("WaitTime = %v", st.WaitTime)
		}
		time.Sleep(200 * time.Millisecond)
		if e := tps[1].wantError(PhaseWait, ErrWaitTimeout); e.Waited != time.Second {
			t.Errorf("Waited = %v", e.Waited)
		}
		p.answer(first)
		tps[0].wantOK()
	})
}

// Where only HTTP/2 is spoken there is no other host to send an Upgrade to.
func TestUpgradeWhereOnlyHTTP2IsSpoken(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		a.wantOK()
		req := s.request("GET", nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
		s.start(req).wantError(PhaseUnsent, nil)
		p.wantNoRequest()
	})
}

// The peer's first SETTINGS belong to the handshake: who waits for them doesn't wait for
// capacity, which is what MaxWait and MaxWaiters are about.
func TestMaxWaitIsNotForTheHandshake(t *testing.T) {
	h2Bubble(t, Config{MaxConnsPerHost: 1, MaxWait: 50 * time.Millisecond, MaxWaiters: 2}, func(s *script) {
		tps := s.gets(5)
		p := s.wantDial().finishH2()
		tps = append(tps, s.gets(5)...)
		time.Sleep(time.Second)
		last := tps[9]
		last.cancel()
		last.wantError(PhaseDial, nil)
		p.settings(9)
		for range 9 {
			p.serve()
		}
		for _, tp := range tps[:9] {
			tp.wantOK()
		}
	})
}

func TestMaxWaitersBehindTheHandshake(t *testing.T) {
	h2Bubble(t, Config{MaxConnsPerHost: 1, MaxWaiters: 2}, func(s *script) {
		warm := s.get()
		p := s.wantDial().serveH2(3)
		p.serve()
		warm.wantOK()
		s.tr.CloseIdleConnections()
		tps := s.gets(2)
		p = s.wantDial().finishH2()
		tps = append(tps, s.gets(3)...) // 3 on the connection, 2 wait
		s.get().wantError(PhaseWait, ErrTooManyWaiters)
		p.settings(3)
		for range 3 {
			p.serve()
		}
		for _, tp := range tps[:3] {
			tp.wantOK()
		}
		for range 2 {
			p.serve()
		}
		for _, tp := range tps[3:] {
			tp.wantOK()
		}
	})
}

// What a request went through before counts also where no connection is had in the end.
func TestResentBeforeAFailedDial(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		req := s.request("POST", strings.NewReader("x"))
		req.GetBody = nil // but it's small, and kept
		a := s.start(req)
		p := s.wantDial().serveH2(10)
		p.wantRequest()
		p.goAway(0, http2.ErrCodeNo)
		bad := errors.New("no way")
		s.wantDial().fail(bad)
		if e := a.wantError(PhaseDial, bad); e.Resent != 1 || !e.BodyTouched {
			t.Errorf("Resent = %d, BodyTouched = %v", e.Resent, e.BodyTouched)
		}
	})
}

// An answer ends the pause of dials, also for those who wait for it.
func TestAnswerEndsThePause(t *testing.T) {
	h2Bubble(t, Config{Jitter: func() float64 { return 1 }}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(1)
		q := p.wantRequest()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		h.fruitless, h.dialNotBefore = 100, time.Now().Add(maxDialPause)
		h.mu.Unlock()
		b := s.get()
		s.wantNoDial()
		if err := p.c.Headers(q.Stream, false, ":status", "200"); err != nil {
			t.Fatal(err)
		}
		s.wantDial().serveH2(1).serve()
		b.wantOK()
		a.wantHead()
		a.resp.Body.Close()
	})
}

// That this side has left a connection before the peer's SETTINGS is nobody's failure: those
// who wait for it get another.
func TestConnectionLeftBehindTheHandshake(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(5)
		p := s.wantDial().finishH2()
		p.wantRequest()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		for c := range h.conns {
			h.leaveLocked(c, ReasonIdleClosed) // as when the first request ends after a Drain
		}
		h.mu.Unlock()
		p.close()
		tps[0].wantError(PhaseSent, nil)
		p = s.wantDial().serveH2(10)
		for range tps[1:] {
			p.serve()
		}
		for _, tp := range tps[1:] {
			tp.wantOK()
		}
	})
}

// Behind one name there may be servers of both kinds. Who needs HTTP/1 isn't given what is
// left of HTTP/2, at once or after a wait.
func TestUpgradeWhereAnHTTP2ConnectionIsLeft(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(1)
		p.serve()
		a.wantOK()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		h.speaks.http1, h.proto = true, protocolHTTP1 // as if another connection had told
		h.mu.Unlock()
		req := s.request("GET", nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
		up := s.start(req)
		d := s.wantDial()
		b, c := s.get(), s.get() // one on the connection, one waits
		q := p.wantRequest()
		s.wantDial().fail(errors.New("no")) // the oldest one's error
		up.wantError(PhaseDial, nil)
		up = s.start(req)
		p.answer(q)
		b.wantOK()
		p.serve()
		c.wantOK()
		up.wantPending()
		p1 := d.finish()
		p1.serve("ok")
		up.wantBody("ok")
	})
}

// Where the body can't be had again the error says so, and still what happened to the request.
func TestRefusedAndTheBodyIsGone(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		gone := errors.New("gone")
		req := s.request("POST", nil)
		req.Body, req.ContentLength = oneShot("body"), 4
		req.GetBody = func() (io.ReadCloser, error) { return nil, gone }
		a := s.start(req)
		p := s.wantDial().serveH2(10)
		p.wantRequest()
		p.goAway(0, http2.ErrCodeNo)
		e := a.wantError(PhaseRefused, gone)
		_, away := errors.AsType[*GoAwayError](e)
		if callers, ok := errors.AsType[*CallerError](e); !away || !ok || callers.Source != CallerBody {
			t.Errorf("error %v", e)
		}
	})
}
