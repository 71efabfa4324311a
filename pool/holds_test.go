package pool

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A connection may end while a request holds it that has no stream on it yet. Whoever lets
// go last retires it, also after its end was told.
func TestConnectionEndsWhileAHookRuns(t *testing.T) {
	veto := errors.New("veto")
	for _, verdict := range []error{nil, veto} {
		var hook func() error
		h2Bubble(t, Config{BeforeSend: func(*http.Request) error { return hook() }}, func(s *script) {
			hook = func() error { return nil }
			a := s.get()
			p := s.wantDial().serveH2(10)
			p.serve()
			a.wantOK()
			gate := make(chan struct{})
			hook = func() error { <-gate; return verdict }
			b := s.get()
			p.close()
			time.Sleep(5 * time.Second)
			hook = func() error { return nil }
			close(gate)
			if verdict != nil {
				b.wantError(PhaseUnsent, veto)
			} else {
				p := s.wantDial().serveH2(10)
				p.serve()
				b.wantOK()
			}
			if st := s.stats(); st.InUse != 0 || st.ClosedBy[ReasonPeerAborted] != 1 {
				t.Errorf("%d in use, closed by %v", st.InUse, st.ClosedBy)
			}
		})
	}
}

// Requests that wait for a stream don't keep a connection that has to go: it ends with those
// that it has, and the others get the next one.
func TestWaitersDontKeepAConnectionThatHasToGo(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    Config
		retire func(*script)
		reason CloseReason
	}{
		{"drained", Config{}, func(s *script) { s.tr.Drain("host.test:80") }, ReasonIdleClosed},
		{"outdated", Config{}, func(s *script) { s.tr.CloseIdleConnections() }, ReasonIdleClosed},
		{"too old", Config{MaxConnAge: time.Second}, func(*script) { time.Sleep(2 * time.Second) }, ReasonMaxAge},
	} {
		tt.cfg.MaxConnsPerHost = 1
		h2Bubble(t, tt.cfg, func(s *script) {
			tps := s.gets(4)
			p := s.wantDial().serveH2(2)
			first, second := p.wantRequest(), p.wantRequest()
			tt.retire(s)
			p.answer(first)
			tps[0].wantOK()
			p.wantNoRequest()
			p.answer(second)
			tps[1].wantOK()
			p.wantClosed()
			p = s.wantDial().serveH2(2)
			p.serve()
			p.serve()
			tps[2].wantOK()
			tps[3].wantOK()
			if by := s.stats().ClosedBy; by[tt.reason] != 1 {
				t.Errorf("%s: closed by %v", tt.name, by)
			}
		})
	}
}

// While nobody has a stream on a connection its peer takes it for idle, whoever holds it.
func TestIdleLimitWhileAHookRuns(t *testing.T) {
	var gate chan struct{}
	h2Bubble(t, Config{ProxyIdleTimeout: time.Second, BeforeSend: func(req *http.Request) error {
		if req.Method == "POST" {
			<-gate
		}
		return nil
	}}, func(s *script) {
		gate = make(chan struct{})
		a := s.get()
		p := s.wantDial().serveH2(10)
		p.serve()
		a.wantOK()
		b := s.start(s.request("POST", nil))
		time.Sleep(time.Second)
		c := s.get()
		p2 := s.wantDial().serveH2(10)
		p2.serve()
		c.wantOK()
		close(gate)
		p2.serve()
		b.wantOK()
		p.wantNoRequest()
		p.wantClosed()
		if by := s.stats().ClosedBy; by[ReasonIdleLimit] != 1 {
			t.Errorf("closed by %v", by)
		}
	})
}

// As long as a stream is open it isn't idle.
func TestIdleLimitWhileAStreamIsOpen(t *testing.T) {
	hook := time.Duration(0)
	h2Bubble(t, Config{ProxyIdleTimeout: time.Second, BeforeSend: func(*http.Request) error { time.Sleep(hook); return nil }}, func(s *script) {
		a := s.get()
		p := s.wantDial().serveH2(10)
		q := p.wantRequest()
		hook = 2 * time.Second
		b := s.get()
		time.Sleep(hook + moment)
		p.serve()
		b.wantOK()
		p.answer(q)
		a.wantOK()
		s.wantNoDial()
	})
}

// Where streams are open there are always bytes to be read: a request with a hook doesn't wait
// until there are none.
func TestHookOnABusyConnection(t *testing.T) {
	gate := make(chan struct{})
	base := &http.Transport{HTTP2: &http.HTTP2Config{CountError: func(string) { <-gate }}}
	h2Bubble(t, Config{Base: base, BeforeSend: func(*http.Request) error { return nil }}, func(s *script) {
		gate = make(chan struct{})
		a := s.get()
		p := s.wantDial().serveH2(10)
		open := p.wantRequest()
		b := s.get()
		refused := p.wantRequest()
		p.reset(refused, http2.ErrCodeCancel) // the read loop is busy with that
		c := s.get()
		third := p.wantRequest()
		close(gate)
		b.wantError(PhaseSent, nil)
		p.answer(open)
		p.answer(third)
		a.wantOK()
		c.wantOK()
	})
}
