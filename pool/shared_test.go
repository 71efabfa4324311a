package pool

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

func TestOneDialServesAColdBurst(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(50)
		p := s.wantDial().serveH2(100)
		s.wantNoDial()
		for range tps {
			p.serve()
		}
		for _, tp := range tps {
			tp.wantOK()
		}
		if st := s.stats(); st.Dials != 1 || st.Proto != "HTTP/2.0" || st.Idle != 1 {
			t.Errorf("%d dials, protocol %q, %d idle", st.Dials, st.Proto, st.Idle)
		}
	})
}

func TestBeforeSettingsOneRequestIsOut(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(3)
		p := s.wantDial().finishH2()
		p.wantRequest()
		p.wantNoRequest()
		s.wantNoDial()
		p.settings(10)
		p.wantRequest()
		p.wantRequest()
		for _, tp := range tps {
			tp.cancel()
		}
	})
}

func TestStreamLimitIsUsedToTheFull(t *testing.T) {
	h2Bubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		tps := s.gets(5)
		p := s.wantDial().serveH2(2)
		first := p.wantRequest()
		p.wantRequest()
		p.wantNoRequest()
		p.answer(first)
		tps[0].wantOK()
		p.wantRequest() // FIFO
		p.wantNoRequest()
		if st := s.stats(); st.Waiting != 2 || len(st.Conns) != 1 || st.Conns[0].Streams != 2 || st.Conns[0].StreamLimit != 2 {
			t.Errorf("%+v", st)
		}
		for _, tp := range tps {
			tp.cancel()
		}
	})
}

func TestFurtherConnectionsWhenAllStreamsAreTaken(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		warm := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		warm.wantOK()
		tps := s.gets(35)
		var peers []*h2Peer
		for range 3 { // 10 on the first, and 25 by tens
			peers = append(peers, s.wantDial().serveH2(10))
		}
		s.wantNoDial()
		for i, p := range append(peers, p) {
			for range [...]int{10, 10, 5, 10}[i] {
				p.serve()
			}
			p.wantNoRequest()
		}
		for _, tp := range tps {
			tp.wantOK()
		}
	})
}

func TestStrictMaxConcurrentRequests(t *testing.T) {
	h2Bubble(t, Config{Base: &http.Transport{HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}}, func(s *script) {
		tps := s.gets(3)
		s.wantDial().serveH2(1)
		s.wantNoDial()
		for _, tp := range tps {
			tp.cancel()
		}
	})
}

// While the peer takes none, what is open goes on and new requests wait.
func TestStreamLimitZero(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		open := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		p.settings(0)
		waiting := s.get()
		p.wantNoRequest()
		s.wantNoDial()
		time.Sleep(barredGrace / 2)
		s.wantNoDial()
		p.answer(q)
		open.wantOK()
		p.settings(5)
		p.serve()
		waiting.wantOK()
	})
}

// A peer that takes none for long isn't waited for.
func TestStreamLimitZeroForLong(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		first := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		first.wantOK()
		p.settings(0)
		tp := s.get()
		s.wantNoDial()
		time.Sleep(barredGrace + moment)
		s.wantDial().serveH2(10).serve()
		tp.wantOK()
	})
}

func TestGoAwayFinishesAcceptedAndReplacesTheRest(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		first := p.wantRequest()
		b := s.start(s.request("POST", strings.NewReader("body")))
		p.wantRequest()
		p.goAway(first.Stream, http2.ErrCodeNo)
		p2 := s.wantDial().serveH2(10)
		q := p2.wantRequest()
		if string(q.Body) != "body" {
			t.Errorf("sent again with the body %q", q.Body)
		}
		p2.answer(q)
		b.wantOK()
		a.wantPending()
		p.wantOpen()
		p.answer(first)
		a.wantOK()
		p.wantClosed()
		st := s.stats()
		if st.Dials != 2 || st.GoAways != 1 || st.Refused != 1 || st.Replaced != 1 || st.ClosedBy[ReasonGoAway] != 1 {
			t.Errorf("%+v", st.Totals)
		}
	})
}

// The next request needn't wait for a dial after a GOAWAY.
func TestGoAwayUnderTrafficDialsAtOnce(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(spareFrom)
		p := s.wantDial().serveH2(10)
		p.goAway(1<<31-1, http2.ErrCodeNo)
		p2 := s.wantDial().serveH2(10)
		b := s.get()
		p2.serve()
		b.wantOK()
		for _, tp := range tps {
			p.serve()
			tp.wantOK()
		}
		p.wantClosed()
	})
}

func TestIdleConnectionGoesWithGoAway(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		a.wantOK()
		p.goAway(1, http2.ErrCodeNo)
		p.wantClosed()
		s.wantNoDial()
	})
}

// A body that can't be had again makes it the caller's affair, at once.
func TestGoAwayWithAOneShotBody(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		req := s.request("POST", nil)
		req.Body, req.ContentLength = oneShot("body"), 4
		a := s.start(req)
		p := s.wantDial().serveH2(10)
		p.wantRequest()
		p.goAway(0, http2.ErrCodeNo)
		e := a.wantError(PhaseRefused, nil)
		g, ok := errors.AsType[*GoAwayError](e)
		if !ok || g.LastStreamID != 0 || g.StreamID != 1 || !e.BodyTouched || !e.Phase.Unprocessed() {
			t.Errorf("%+v (%v)", e, e)
		}
		p.wantClosed()
	})
}

// At or below the last id there is no proof, whatever the code.
func TestGoAwayProvesNothingForAcceptedStreams(t *testing.T) {
	for _, tt := range []struct {
		last uint32
		code http2.ErrCode
	}{{1, http2.ErrCodeNo}, {1<<31 - 1, http2.ErrCodeNo}, {1, http2.ErrCodeInternal}} {
		h2Bubble(t, Config{}, func(s *script) {
			a := s.start(s.request("POST", strings.NewReader("body")))
			p := s.wantDial().serveH2(10)
			p.wantRequest()
			p.goAway(tt.last, tt.code)
			p.close()
			e := a.wantError(PhaseSent, nil)
			if g, ok := errors.AsType[*GoAwayError](e); !ok || g.LastStreamID != tt.last || g.Code != tt.code {
				t.Errorf("%v: the error doesn't tell of the GOAWAY", e)
			}
		})
	}
}

func TestRefusedStreamIsSentAgainLater(t *testing.T) {
	h2Bubble(t, Config{Jitter: func() float64 { return 0.5 }}, func(s *script) {
		a := s.start(s.request("POST", strings.NewReader("body")))
		p := s.wantDial().serveH2(10)
		for _, pause := range []time.Duration{1500 * time.Microsecond, 6 * time.Millisecond, 24 * time.Millisecond} {
			p.reset(p.wantRequest(), http2.ErrCodeRefusedStream)
			time.Sleep(pause - time.Microsecond)
			p.wantNoRequest()
			time.Sleep(time.Microsecond)
		}
		p.serve()
		a.wantOK()
		if st := s.stats(); st.Refused != 3 || st.Replaced != 3 || st.Dials != 1 {
			t.Errorf("%+v", st.Totals)
		}
	})
}

func TestRefusedForEver(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.start(s.request("POST", strings.NewReader("body")))
		p := s.wantDial().serveH2(10)
		for range maxReplacements + 1 {
			p.reset(p.wantRequest(), http2.ErrCodeRefusedStream)
			time.Sleep(time.Second)
		}
		p.wantNoRequest()
		if e := a.wantError(PhaseRefused, nil); e.Resent != maxReplacements {
			t.Errorf("Resent = %d", e.Resent)
		}
		p.wantOpen()
	})
}

func TestAttemptLeavesRefusedStreamsToItsCaller(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err = s.tr.Attempt(s.request("POST", strings.NewReader("body")))
		}()
		p := s.wantDial().serveH2(10)
		p.reset(p.wantRequest(), http2.ErrCodeRefusedStream)
		<-done
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseRefused || e.Resent != 0 {
			t.Errorf("error %+v", err)
		}
	})
}

// Only REFUSED_STREAM is a proof. Others aren't, also right after a GOAWAY.
func TestOtherResetsProveNothing(t *testing.T) {
	for code := http2.ErrCodeNo; code <= http2.ErrCodeHTTP11Required; code++ {
		if code == http2.ErrCodeRefusedStream {
			continue
		}
		h2Bubble(t, Config{}, func(s *script) {
			a := s.start(s.request("POST", strings.NewReader("body")))
			p := s.wantDial().serveH2(10)
			q := p.wantRequest()
			p.goAway(q.Stream, http2.ErrCodeNo)
			p.reset(q, code)
			if e := a.wantError(PhaseSent, nil); e.Phase.Unprocessed() {
				t.Errorf("%v counts as a proof", code)
			}
		})
	}
}

func TestStormOfGoAwaysIsSlowedDown(t *testing.T) {
	h2Bubble(t, Config{Jitter: func() float64 { return 1 }}, func(s *script) {
		a := s.get()
		for range maxReplacements + 1 {
			p := s.wantDialWithin(time.Second).serveH2(10)
			time.Sleep(50 * time.Millisecond) // the request pauses, too
			p.wantRequest()
			p.goAway(0, http2.ErrCodeNo)
		}
		a.wantError(PhaseRefused, nil)
		for range 10 {
			b := s.get()
			p := s.wantDialWithin(2 * maxDialPause).serveH2(10)
			p.wantRequest()
			b.cancel()
			p.goAway(0, http2.ErrCodeNo)
		}
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		wait := time.Until(h.dialNotBefore)
		h.mu.Unlock()
		if wait < maxDialPause/2 || wait > maxDialPause {
			t.Errorf("the next dial pauses for %v", wait)
		}
		c := s.get()
		p := s.wantDialWithin(2 * maxDialPause).serveH2(10)
		p.serve()
		c.wantOK()
		h.mu.Lock()
		if h.fruitless != 0 {
			t.Error("an answer didn't end it")
		}
		h.mu.Unlock()
	})
}

// wantDialWithin is wantDial for one that may pause.
func (s *script) wantDialWithin(d time.Duration) *scriptDial {
	s.Helper()
	select {
	case d := <-s.dials:
		return d
	case <-time.After(d):
		s.Fatalf("no dial within %v", d)
		return nil
	}
}

func TestDialPause(t *testing.T) {
	for _, tt := range []struct {
		n      int
		jitter float64
		want   time.Duration
	}{{0, 0, 0}, {1, 0.9, 0}, {2, 0, firstDialPause / 2}, {2, 1, firstDialPause}, {3, 1, 2 * firstDialPause}, {9, 1, 128 * firstDialPause}, {10, 1, time.Second}, {1000, 0, time.Second / 2}} {
		if got := dialPause(tt.n, tt.jitter); got != tt.want {
			t.Errorf("dialPause(%d, %v) = %v, want %v", tt.n, tt.jitter, got, tt.want)
		}
	}
}

// While a PING is out to show whether the peer is there, requests wait a moment, and then go
// elsewhere.
func TestSuspectConnection(t *testing.T) {
	h2Bubble(t, Config{Base: &http.Transport{ResponseHeaderTimeout: 100 * time.Millisecond}}, func(s *script) {
		warm := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		warm.wantOK()
		time.Sleep(moment)
		a := s.get()
		p.mute.Store(true)
		time.Sleep(100 * time.Millisecond)
		a.wantError(PhaseSent, nil)
		b := s.get()
		s.wantNoDial()
		time.Sleep(doubtGrace)
		s.wantDial().serveH2(10).serve()
		b.wantOK()
		if st := s.stats(); len(st.Conns) != 2 || !st.Conns[0].Suspect || st.Conns[0].Pings != 1 {
			t.Errorf("%+v", st.Conns)
		}
		time.Sleep(pingTimeout)
		p.wantClosed()
		if st := s.stats(); st.ClosedBy[ReasonTimeout] != 1 {
			t.Errorf("closed by %v", st.ClosedBy)
		}
	})
}

func TestSuspicionThatIsUnfounded(t *testing.T) {
	h2Bubble(t, Config{Base: &http.Transport{ResponseHeaderTimeout: 100 * time.Millisecond}}, func(s *script) {
		warm := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		warm.wantOK()
		time.Sleep(moment)
		a := s.get()
		time.Sleep(100 * time.Millisecond)
		a.wantError(PhaseSent, nil)
		b := s.get()
		s.wantNoDial()
		p.wantRequest() // the one that was given up
		p.serve()
		b.wantOK()
	})
}

func TestConnectionThatEndsBeforeItsSettings(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(20)
		p := s.wantDial().finishH2()
		p.close()
		for _, tp := range tps[1:] {
			e := tp.wantError(PhaseDial, nil)
			if !e.Phase.Unprocessed() {
				t.Error(e)
			}
		}
		tps[0].wantError(PhaseSent, nil)
		s.wantNoDial()
	})
}

func TestFailedDialFailsAllWhoWaitedForIt(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(20)
		bad := errors.New("refused")
		s.wantDial().fail(bad)
		for _, tp := range tps {
			tp.wantError(PhaseDial, bad)
		}
		s.wantNoDial()
	})
}

// A dial that hangs gets one beside it, and no more.
func TestSlowDialGetsCompany(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		tps := s.gets(20)
		s.wantDial()
		s.wantNoDial()
		time.Sleep(slowDial + moment)
		p := s.wantDial().serveH2(100)
		time.Sleep(5 * slowDial)
		s.wantNoDial()
		for range tps {
			p.serve()
		}
		for _, tp := range tps {
			tp.wantOK()
		}
	})
}

func TestSharedConnectionOutlivesItsIdleLimitInUse(t *testing.T) {
	h2Bubble(t, Config{ProxyIdleTimeout: time.Second}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		time.Sleep(10 * time.Second)
		b := s.get()
		s.wantNoDial()
		p.serve()
		b.wantOK()
		p.answer(q)
		a.wantOK()
		p.wantOpen()
		time.Sleep(time.Second)
		p.wantClosed()
	})
}

func TestDrainLetsStreamsEnd(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		s.tr.Drain("host.test:80")
		b := s.get()
		s.wantDial().serveH2(10).serve()
		b.wantOK()
		p.wantOpen()
		p.answer(q)
		a.wantOK()
		p.wantClosed()
	})
}

func TestCloseEndsStreams(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		p.wantRequest()
		s.tr.Close()
		a.wantError(PhaseSent, ErrClosed)
		p.wantClosed()
	})
}

func TestShutdownWaitsForStreams(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		done := make(chan error, 1)
		go func() { done <- s.tr.Shutdown(s.Context()) }()
		synctest.Wait()
		p.answer(q)
		a.wantOK()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.wantClosed()
	})
}

func TestDisableKeepAlivesWithStreams(t *testing.T) {
	h2Bubble(t, Config{Base: &http.Transport{DisableKeepAlives: true}}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		a.wantOK()
		p.wantClosed()
		if st := s.stats(); st.ClosedBy[ReasonNotKept] != 1 {
			t.Errorf("closed by %v", st.ClosedBy)
		}
	})
}

// The connection that one request vetoes serves the others.
func TestVetoOnASharedConnection(t *testing.T) {
	veto := errors.New("veto")
	h2Bubble(t, Config{BeforeSend: func(req *http.Request) error {
		if req.Method == "DELETE" {
			return veto
		}
		return nil
	}}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		s.start(s.request("DELETE", nil)).wantError(PhaseUnsent, veto)
		p.answer(q)
		a.wantOK()
		p.wantOpen()
	})
}

// An extended CONNECT (RFC 8441) is a stream both ways; where the server doesn't say that it
// takes one, none goes out.
func TestExtendedConnect(t *testing.T) {
	connect := func(s *script) (*http.Request, *io.PipeWriter) {
		r, w := io.Pipe()
		req := s.request("CONNECT", r)
		req.Header[":protocol"] = []string{"websocket"}
		return req, w
	}
	h2Bubble(t, Config{}, func(s *script) {
		req, w := connect(s)
		tp := s.start(req)
		p := s.wantDial().finishH2()
		if err := p.c.Settings(http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1}); err != nil {
			t.Fatal(err)
		}
		p.told.Store(true)
		f := p.wantHeaders()
		for _, field := range f.Fields {
			if field.Name == ":protocol" && field.Value != "websocket" {
				t.Errorf(":protocol is %q", field.Value)
			}
		}
		if err := p.c.Headers(f.StreamID, false, ":status", "200"); err != nil {
			t.Fatal(err)
		}
		tp.wantHead()
		go w.Write([]byte("ping"))
		if got := p.wantData(); got != "ping" {
			t.Errorf("the peer got %q", got)
		}
		if err := p.c.Data(f.StreamID, false, []byte("pong")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(tp.resp.Body, got); err != nil || string(got) != "pong" {
			t.Errorf("got %q, %v", got, err)
		}
		tp.resp.Body.Close()
		if st := s.stats(); st.InUse != 0 {
			t.Errorf("%d in use", st.InUse)
		}
	})
	h2Bubble(t, Config{}, func(s *script) {
		req, _ := connect(s)
		tp := s.start(req)
		p := s.wantDial().serveH2(10)
		e := tp.wantError(PhaseUnsent, nil)
		if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerRequest {
			t.Errorf("error %v", e)
		}
		p.wantNoRequest()
		p.wantOpen()
	})
	inBubble(t, Config{}, func(s *script) { // HTTP/1
		req, _ := connect(s)
		tp := s.start(req)
		p := s.wantDial().finish()
		e := tp.wantError(PhaseUnsent, nil)
		if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerRequest {
			t.Errorf("error %v", e)
		}
		p.wantOpen()
	})
}
