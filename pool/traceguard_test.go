package pool

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/dialer"
)

func TestGuardTrace(t *testing.T) {
	var r told
	cfg := GuardConfig{MaxConnsPerHost: 1, MaxWait: time.Second, MaxWaiters: 1, ProxyIdleTimeout: 10 * time.Second, IdleMargin: time.Second, Trace: r.trace()}
	guardBubble(t, cfg, func(s *guarded) {
		c := s.open()
		c.exchange()
		second := s.start()
		if _, err := s.g.DialContext(s.Context(), "tcp", "a.test:80"); !errors.Is(err, ErrTooManyWaiters) {
			t.Error(err)
		}
		time.Sleep(time.Second)
		second.over(t)
		time.Sleep(8 * time.Second)
		c.wantRefused(getHead, ErrIdleLimit)
		c = s.open()
		c.exchange()
		c.server.Close()
		c.Read(make([]byte, 1))
		c.wantRefused(getHead, ErrPeerClosed)
		s.refuse = &dialer.Error{Stage: dialer.StageConnect, Err: syscall.ECONNREFUSED}
		s.g.DialContext(s.Context(), "tcp", "a.test:80")
		synctest.Wait()

		tot := s.g.Stats().Total
		got, want := r.books(&tot)
		delete(got, "refused") // Stats don't count them as such
		delete(want, "reused") // it tells of none
		for name := range merged(got, want) {
			if got[name] != want[name] {
				t.Errorf("%s: the events say %d, Stats %d", name, got[name], want[name])
			}
		}
		retired := of[RetireEvent](&r)
		if len(retired) != 2 || retired[0].Stale || !retired[1].Stale || retired[1].How != "fin" || retired[0].Requests != -1 || retired[0].Age != 9*time.Second {
			t.Errorf("%+v", retired)
		}
		refused := of[RefuseEvent](&r)
		if len(refused) != 2 || !errors.Is(refused[0].Err, ErrIdleLimit) || !errors.Is(refused[1].Err, ErrPeerClosed) || refused[1].ID != retired[1].ID {
			t.Errorf("%+v", refused)
		}
		if len(r.wrong) != 0 || slices.IndexFunc(of[WaitEvent](&r), func(e WaitEvent) bool { return e.Queue != 1 }) >= 0 {
			t.Errorf("%q, %+v", r.wrong, of[WaitEvent](&r))
		}
	})
}
