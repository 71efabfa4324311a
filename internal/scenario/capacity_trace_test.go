package scenario

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync/atomic"
	"testing"
)

// A watchdog is a caller's trace. It barks when a hook is called for a request that has
// returned.
type watchdog struct {
	over         atomic.Bool
	calls, barks atomic.Int64
}

func (w *watchdog) hook() {
	w.calls.Add(1)
	if w.over.Load() {
		w.barks.Add(1)
	}
}

func (w *watchdog) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:              func(string) { w.hook() },
		GotConn:              func(httptrace.GotConnInfo) { w.hook() },
		PutIdleConn:          func(error) { w.hook() },
		GotFirstResponseByte: w.hook,
		Got100Continue:       w.hook,
		Got1xxResponse:       func(int, textproto.MIMEHeader) error { w.hook(); return nil },
		DNSStart:             func(httptrace.DNSStartInfo) { w.hook() },
		DNSDone:              func(httptrace.DNSDoneInfo) { w.hook() },
		ConnectStart:         func(string, string) { w.hook() },
		ConnectDone:          func(string, string, error) { w.hook() },
		TLSHandshakeStart:    w.hook,
		TLSHandshakeDone:     func(tls.ConnectionState, error) { w.hook() },
		WroteHeaderField:     func(string, []string) { w.hook() },
		WroteHeaders:         w.hook,
		Wait100Continue:      w.hook,
		WroteRequest:         func(httptrace.WroteRequestInfo) { w.hook() },
	}
}

// A dial outlives its request, and its end is none of that request's hooks' affair; the
// dial is there for the next one, whose hooks are called.
func TestNoHookIsCalledForARequestThatHasReturned(t *testing.T) {
	onHeldWays(t, func(t *testing.T, r *rig, s *site, w heldWay) {
		const callers = 4
		tr, url, g := w.by(r, s)
		dogs := make([]watchdog, callers)
		together(callers, func(i int) {
			dog := &dogs[i]
			ctx, cancel := context.WithTimeout(httptrace.WithClientTrace(t.Context(), dog.trace()), shortTime)
			defer cancel()
			_ = doer(tr.RoundTrip).send(newCall(ctx, http.MethodPost, url, bodyKinds[i%len(bodyKinds)]))
			dog.over.Store(true)
		})
		var last watchdog
		c := newPatient(t, http.MethodPost, url, oneShot)
		c.Request = c.WithContext(httptrace.WithClientTrace(c.Context(), last.trace()))
		call := doer(tr.RoundTrip).start(c)
		wantWaiting(t, tr, 1)
		g.open()
		all(t, call)
		last.over.Store(true)
		if !within(patience, func() bool { return gauges(tr).Dialing == 0 }) {
			t.Errorf("%+v", gauges(tr))
		}
		tr.Close()
		for i := range dogs {
			if n := dogs[i].barks.Load(); n > 0 {
				t.Errorf("request %d: %d hooks were called behind its return", i, n)
			}
		}
		if last.calls.Load() == 0 || last.barks.Load() > 0 {
			t.Errorf("the last request: %d hooks called, %d behind its return", last.calls.Load(), last.barks.Load())
		}
	})
}
