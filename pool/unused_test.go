package pool

import (
	"context"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// known is how many hosts the transport has in its map.
func (t *Transport) known() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.hosts)
}

// Whatever leaves a host last, a connection, a request that waited or a Warm: it is forgotten
// some time after.
func TestHostsAreForgottenWhateverLeavesLast(t *testing.T) {
	for name, use := range map[string]func(s *script, ctx context.Context, cancel func()){
		"a connection": func(s *script, _ context.Context, _ func()) {
			s.exchange().Close()
		},
		"a failed dial": func(s *script, _ context.Context, _ func()) {
			tp := s.get()
			s.wantDial().fail(syscall.ECONNREFUSED)
			tp.wantError(PhaseDial, syscall.ECONNREFUSED)
		},
		"a request that waited while dials paused": func(s *script, ctx context.Context, cancel func()) {
			s.pauseDials()
			tp := s.start(s.request("GET", nil).WithContext(ctx))
			cancel()
			tp.wantError(PhaseWait, context.Canceled)
		},
		"a Warm that had nothing to do": func(s *script, ctx context.Context, _ func()) {
			s.wantWarm(s.warm(ctx, 0), nil)
		},
		"a Warm that waited while dials paused": func(s *script, ctx context.Context, cancel func()) {
			s.pauseDials()
			done := s.warm(ctx, 1)
			cancel()
			s.wantWarm(done, context.Canceled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				ctx, cancel := context.WithCancel(s.Context())
				defer cancel()
				use(s, ctx, cancel)
				if n := s.tr.known(); n != 1 {
					t.Fatalf("%d hosts are known, want 1", n)
				}
				time.Sleep(2*forgetAfter + time.Second)
				synctest.Wait()
				if n := s.tr.known(); n != 0 {
					t.Errorf("%d hosts are known after %v, want none", n, 2*forgetAfter)
				}
			})
		})
	}
}

// pauseDials is what a peer does that gives up all connections at once.
func (s *script) pauseDials() {
	h := s.tr.hostOf(rawKey{scheme: "http", host: "host.test"}, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialNotBefore = time.Now().Add(2 * forgetAfter)
}

// A host that is forgotten before it comes into the list of those with idle connections doesn't
// stay there.
func TestForgottenHostIsNotListed(t *testing.T) {
	inBubble(t, Config{Base: &http.Transport{MaxIdleConns: 10}}, func(s *script) {
		h := s.tr.hostOf(rawKey{scheme: "http", host: "host.test"}, nil)
		h.mu.Lock()
		list := h.listLocked()
		h.mu.Unlock()
		s.tr.forget(h, time.Now(), 0)
		s.tr.idlers.add(h)
		if n := len(s.tr.idlers.hosts); !list || n != 0 || s.tr.known() != 0 {
			t.Errorf("%d hosts are listed, and %d known", n, s.tr.known())
		}
	})
}
