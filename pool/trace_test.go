package pool

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"

	"golang.org/x/net/http2"
)

// Every script has its events compared with its Stats at the end; this one has some of everything,
// so that none of the comparisons is of zeros.
func TestTraceTellsWhatStatsCount(t *testing.T) {
	cfg := Config{MaxConnsPerHost: 2, MaxWait: time.Second, MaxWaiters: 1, ProxyIdleTimeout: 10 * time.Second, IdleMargin: time.Second}
	inBubble(t, cfg, func(s *script) {
		tp := s.get()
		s.wantDial().fail(&dialer.Error{Stage: dialer.StageTLS, Err: errors.New("no")})
		tp.wantError(PhaseDial, nil)
		tp = s.get()
		s.wantDial()
		tp.cancel()
		time.Sleep(2 * orphanGrace)

		s.exchange().Close() // at once: closed while idle
		synctest.Wait()
		p := s.exchange()
		time.Sleep(3 * time.Second)
		tp = s.get()
		p.serve("reused")
		tp.wantBody("reused")
		time.Sleep(9 * time.Second) // the idle limit

		p = s.exchange()
		bad := s.request("POST", io.NopCloser(strings.NewReader("x")))
		bad.TransferEncoding = []string{"gzip"}
		s.start(bad).wantError(PhaseUnsent, nil) // its connection is as it was: Stats don't count it
		p.client.FailWriteAfter(0, syscall.EPIPE)
		tp = s.get()
		p = s.wantDial().finish()
		second := s.get()
		q := s.wantDial().finish()
		third, fourth := s.get(), s.get()
		fourth.wantError(PhaseWait, ErrTooManyWaiters)
		time.Sleep(time.Second)
		third.wantError(PhaseWait, ErrWaitTimeout)
		p.serve("replaced")
		tp.wantBody("replaced")
		q.wantRequest()
		q.Close()
		second.wantError(PhaseSent, nil)

		tot := s.tr.Stats().Total
		got, want := s.told.books(&tot)
		for _, name := range []string{"abandoned", "tls", "opened", "dial times", "waits", "wait timeouts", "reused", "replaced",
			"closed, " + string(ReasonPeerClosed), "closed, " + string(ReasonPeerAborted), "idle for, " + string(ReasonIdleLimit)} {
			if name != "dial times" && got[name] == 0 || got[name] != want[name] {
				t.Errorf("%s: %d events, Stats have %d", name, got[name], want[name])
			}
		}
	})
}

func TestTraceOfHTTP2(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		p := s.h2Exchange()
		first := s.get()
		p.wantRequest()
		second := s.get()
		q := p.wantRequest()
		p.reset(q, http2.ErrCodeRefusedStream)
		time.Sleep(10 * ms) // before it is sent again
		p.answer(p.wantRequest())
		second.wantBody("")
		refused := theOnly[RefuseEvent](t, &s.told)
		if refused.GoAway || refused.Code != http2.ErrCodeRefusedStream || refused.StreamID != q.Stream || refused.Proto != "HTTP/2.0" || refused.Host != "host.test:80" {
			t.Errorf("%+v", refused)
		}
		p.goAway(1, http2.ErrCodeEnhanceYourCalm)
		s.wantDial().serveH2(10).serve()
		first.wantBody("")
		refused = of[RefuseEvent](&s.told)[1]
		if !refused.GoAway || refused.Code != http2.ErrCodeEnhanceYourCalm || refused.LastStreamID != 1 || refused.StreamID == 0 {
			t.Errorf("%+v", refused)
		}
		replaced := of[ReplaceEvent](&s.told)
		if len(replaced) != 2 || replaced[0].Phase != PhaseRefused || replaced[1].Phase != PhaseRefused || replaced[1].ID != refused.ID {
			t.Errorf("%+v", replaced)
		}
		if e := theOnly[RetireEvent](t, &s.told); e.Reason != ReasonGoAway || e.Requests != 4 || e.ID != refused.ID {
			t.Errorf("%+v", e)
		}
	})
}

func TestTraceEventsHaveTheFacts(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: 10 * time.Second, IdleMargin: time.Second}, func(s *script) {
		first := s.get()
		time.Sleep(20 * ms)
		p := s.wantDial().finish()
		p.serve("ok")
		first.wantBody("ok")
		time.Sleep(2 * time.Second)
		tp := s.get()
		p.serve("ok")
		tp.wantBody("ok")
		time.Sleep(3 * time.Second)
		p.Close()
		synctest.Wait()

		on := TraceConn{TraceHost{"host.test:80", "http", ""}, of[DialEvent](&s.told)[0].ID, p.client.RemoteAddr().String(), "HTTP/1.1"}
		if on.ID == 0 {
			t.Error("a connection without a number")
		}
		want := []any{
			DialEvent{TraceConn: on, Took: 20 * ms},
			WaitEvent{TraceHost: on.TraceHost, Took: 20 * ms, Queue: 1},
			ReuseEvent{TraceConn: on, Idle: 2 * time.Second, Requests: 1},
			RetireEvent{TraceConn: on, Reason: ReasonPeerClosed, Age: 5 * time.Second, Idle: 3 * time.Second, Requests: 2, How: "fin"},
		}
		if s.told.all[0] != want[0] || !reflect.DeepEqual(s.told.all, want) {
			t.Errorf("%+v\nwant %+v", s.told.all, want)
		}
	})
}

// An answer that is over when its head is there, and its connection with it, doesn't make
// Retired come before Reused.
func TestTraceKeepsTheOrderWhereTheAnswerClosesItsConnection(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		p := s.exchange()
		tp := s.get()
		p.serve("", "Connection: close")
		tp.wantBody("")
		if e, r := theOnly[ReuseEvent](t, &s.told), theOnly[RetireEvent](t, &s.told); e.ID != r.ID || r.Reason != ReasonNotKept {
			t.Errorf("%+v, %+v", e, r)
		}
	})
}

// A connection that a look finds dead is told as stale.
func TestTraceTellsStale(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no look on Windows")
	}
	var r told
	rig := newRestRig(t, false)
	var err error
	if rig.tr, err = New(Config{Base: &http.Transport{}, Trace: r.trace()}); err != nil {
		t.Fatal(err)
	}
	server := rig.idle()
	c := rig.tr.allHosts()[0].idle[0]
	c.watch.Stop() // which would have told before
	server.Close()
	eventually(t, "the end has arrived", func() bool {
		v, _ := health.Socket(c.nc)
		return v == health.Dead
	})
	rig.idle()
	if e := theOnly[RetireEvent](t, &r); !e.Stale || e.How != "fin" || e.Reason != ReasonPeerClosed || e.Requests != 1 {
		t.Errorf("%+v", e)
	}
	rig.tr.Close()
	r.settledBooks(t, rig.tr)
}

// Functions that panic, or that ask the transport, do the books no harm.
func TestTraceFunctionsMayPanicAndAsk(t *testing.T) {
	var tr *Transport
	var calls []string
	bad := func(name string) {
		tr.Stats() // no lock is held
		calls = append(calls, name)
		panic(name)
	}
	cfg := Config{Trace: &Trace{
		Dialled: func(DialEvent) { bad("dialled") }, Reused: func(ReuseEvent) { bad("reused") },
		Retired: func(RetireEvent) { bad("retired") }, Waited: func(WaitEvent) { bad("waited") },
		Replaced: func(ReplaceEvent) { bad("replaced") },
	}}
	inBubble(t, cfg, func(s *script) {
		tr = s.tr
		cfg.Trace.Reused = nil // New has a copy
		p := s.exchange()
		tp := s.get()
		p.serve("ok")
		tp.wantBody("ok")
		p.client.FailWriteAfter(0, syscall.EPIPE)
		tp = s.get()
		s.wantDial().finish().serve("ok")
		tp.wantBody("ok")
		s.tr.CloseIdleConnections()
		want := "dialled waited reused reused retired replaced dialled waited retired"
		if got := strings.Join(calls, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// A slow function's time isn't the dial's, and keeps its connection back.
func TestTraceDialledComesBeforeAnybodyHasTheConnection(t *testing.T) {
	cfg := Config{Trace: &Trace{Dialled: func(DialEvent) { time.Sleep(time.Second) }}}
	inBubble(t, cfg, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		tp.wantPending()
		time.Sleep(time.Second)
		p.serve("ok")
		tp.wantBody("ok")
		if st := s.stats(); st.DialTimes.Sum != 0 || st.WaitTime != time.Second {
			t.Errorf("the dial took %v, the wait %v", st.DialTimes.Sum, st.WaitTime)
		}
	})
}

// Without a Trace nothing is made for one.
func TestNoTraceCostsNothing(t *testing.T) {
	if c := newConnTrace(nil); c != nil {
		t.Error("a connection has something to tell to nobody")
	}
	tr, err := New(Config{Base: &http.Transport{}})
	if err != nil || tr.set.Trace != nil {
		t.Errorf("%v, %v", tr, err)
	}
}
