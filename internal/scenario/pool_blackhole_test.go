package scenario

import (
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// forgetful answers requests, and once it has been idle for d takes what comes and drops
// it, as a load balancer or NAT does that has forgotten the flow. It never closes.
func forgetful(d time.Duration, forgot, dropped *atomic.Int64) script {
	return func(c *peerConn) {
		for {
			c.tcp.SetReadDeadline(time.Now().Add(d))
			_, err := c.br.Peek(1)
			c.tcp.SetReadDeadline(time.Time{})
			if os.IsTimeout(err) {
				forgot.Add(1)
				n, _ := c.br.WriteTo(count{})
				dropped.Add(n)
				return
			}
			q, err := c.request()
			if err != nil || c.answer(q) != nil {
				return
			}
		}
	}
}

// count is a writer that only says how much was written.
type count struct{}

func (count) Write(p []byte) (int, error) { return len(p), nil }

func TestAFlowForgottenByTheProxyIsNotUsed(t *testing.T) {
	const T = 200 * time.Millisecond
	eachMode(t, func(t *testing.T, r *rig) {
		var forgot, dropped atomic.Int64
		p := r.peer(forgetful(T, &forgot, &dropped))
		n := len(fronts) * len(bodyKinds)
		trs := make([]*pool.Transport, n)
		for i := range trs {
			trs[i] = r.pool(pool.Config{ProxyIdleTimeout: T})
		}
		together(n, func(i int) {
			f, kind := fronts[i%len(fronts)], bodyKinds[i/len(fronts)]
			do := f.over(trs[i])
			if err := do.send(newCall(t.Context(), http.MethodPost, p.url, kind)); err != nil {
				t.Errorf("%s, %s: %v", f.name, kind, err)
			}
			pause(T + 50*time.Millisecond)
			c := newCall(t.Context(), http.MethodPost, p.url, kind)
			start := time.Now()
			if err := do.send(c); err != nil {
				t.Errorf("%s, %s: %v", f.name, kind, err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s, %s: the request took %v", f.name, kind, took)
			}
			if p.count(c.id) != 1 {
				t.Errorf("%s, %s: the request came %d times", f.name, kind, p.count(c.id))
			}
			if c.body != nil && c.body.bytes.Load() != int64(len(c.Header.Get(bodyHeader))) {
				t.Errorf("%s: %d bytes of the body were read", f.name, c.body.bytes.Load())
			}
		})
		if dropped.Load() != 0 {
			t.Errorf("%d bytes went to forgotten flows", dropped.Load())
		}
	})
}

// Nobody told the client of the idle timeout: the limit on the answer's head ends it,
// the request may have been processed, and the connection is gone.
func TestAnUnknownForgottenFlowEndsByTheHeaderLimit(t *testing.T) {
	const T, limit = 100 * time.Millisecond, 500 * time.Millisecond
	eachMode(t, func(t *testing.T, r *rig) {
		var forgot, dropped atomic.Int64
		p := r.peer(forgetful(T, &forgot, &dropped))
		n := len(fronts) * len(bodyKinds)
		trs := make([]*pool.Transport, n)
		for i := range trs {
			trs[i] = r.pool(pool.Config{Base: &http.Transport{ResponseHeaderTimeout: limit}})
		}
		together(n, func(i int) {
			f, kind := fronts[i%len(fronts)], bodyKinds[i/len(fronts)]
			do := f.over(trs[i])
			if err := do.send(newCall(t.Context(), http.MethodPost, p.url, kind)); err != nil {
				t.Errorf("%s, %s: %v", f.name, kind, err)
			}
			if !within(5*time.Second, func() bool { return forgot.Load() >= int64(n) }) {
				t.Errorf("%d of %d flows are forgotten", forgot.Load(), n)
			}
			c := newCall(t.Context(), http.MethodPost, p.url, kind)
			start := time.Now()
			pe := poolError(t, do.send(c))
			took := time.Since(start)
			if pe.Phase != pool.PhaseSent || !pe.Reused || pe.Idle < T/2 || pe.Sent == 0 || !pe.Timeout() {
				t.Errorf("%s, %s: error %#v", f.name, kind, pe)
			}
			if want := kind == oneShot || kind == inMemory; pe.BodyTouched != want {
				t.Errorf("%s, %s: BodyTouched is %t", f.name, kind, pe.BodyTouched)
			}
			if took < limit || took > limit+2*time.Second {
				t.Errorf("%s, %s: it took %v, with a limit of %v", f.name, kind, took, limit)
			}
			if err := c.body.misuse(); err != nil {
				t.Error(err)
			}
			if p.count(c.id) != 0 {
				t.Errorf("%s, %s: the request came %d times", f.name, kind, p.count(c.id))
			}
			if g := gauges(trs[i]); g.Open != 0 {
				t.Errorf("the connection is still there: %+v", g)
			}
			if err := do.send(newCall(t.Context(), http.MethodPost, p.url, kind)); err != nil {
				t.Errorf("%s, %s: %v", f.name, kind, err)
			}
			if n := trs[i].Stats().Total.ClosedBy[pool.ReasonTimeout]; n != 1 {
				t.Errorf("%s, %s: %d connections were closed for a timeout", f.name, kind, n)
			}
		})
		if dropped.Load() == 0 {
			t.Error("no byte went to a forgotten flow: nothing was tested")
		}
	})
}
