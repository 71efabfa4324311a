package pool

import (
	"net/http"
	"testing"
	"time"
)

// An HTTP/2 connection whose request is cancelled becomes idle on the goroutine that has just
// written to it. When there are too many then, and it is the one to go, it doesn't wait for that
// goroutine, which is its own.
func TestSurplusOfIdleConnectionsIsClosedAtOnce(t *testing.T) {
	for name, cfg := range map[string]Config{
		"MaxIdlePerHost": {MaxIdlePerHost: 1},
		"MaxIdleConns":   {Base: &http.Transport{MaxIdleConns: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			h2Bubble(t, cfg, func(s *script) {
				a := s.get()
				p := s.wantDial().serveH2(1)
				b := s.get()
				q := s.wantDial().serveH2(1)
				time.Sleep(time.Second)
				q.serve()
				b.wantOK()
				a.cancel() // its connection has been silent for longer, and is the one to go
				p.wantRequest()
				p.wantClosed()
				q.wantOpen()
				if st := s.stats(); st.Open != 1 || st.ClosedBy[ReasonIdleCap] != 1 {
					t.Errorf("%d open, closed by %v", st.Open, st.ClosedBy)
				}
			})
		})
	}
}
