package pool

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Both limits of a wait may be over by the time that its goroutine gets to run: then the
// request's own end is what its caller is told.
func TestContextsEndGoesBeforeMaxWait(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1, MaxWait: time.Second}, func(s *script) {
		first := s.get()
		d := s.wantDial().finish()
		h := s.tr.allHosts()[0]
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		for range 200 {
			var w *waiter
			ws := wish{ctx: ctx, w: &w}
			h.mu.Lock()
			err := h.enqueueLocked(ws, time.Now())
			w.spent = time.Second
			h.mu.Unlock()
			if err != nil {
				s.Fatal(err)
			}
			if _, err = h.wait(ws); !errors.Is(err, context.Canceled) {
				s.Fatalf("with both over: %v", err)
			}
			h.endWait(w, err)
		}
		d.serve("ok")
		first.wantBody("ok")
	})
}
