package pool

import (
	"errors"
	"net/http"
	"testing"
	"time"
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
				s.wantDial().serveH2(10).serve()
				b.wantOK()
			}
			if st := s.stats(); st.InUse != 0 || st.ClosedBy[ReasonPeerAborted] != 1 {
				t.Errorf("%d in use, closed by %v", st.InUse, st.ClosedBy)
			}
		})
	}
}
