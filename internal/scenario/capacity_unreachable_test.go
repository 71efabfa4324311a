package scenario

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// Bounds of what an unreachable host may cost, whatever comes in between.
const (
	mostDials  = 16 // in flight, before one has succeeded
	spareDials = 4  // in flight beyond those who wait
	dialGrace  = 5 * time.Second
)

// A hole is a host to which no connection comes about. Its dials hang in a stage.
type hole struct {
	name string
	sp   speech
	deaf bool // they go on behind the pool's back
	// dig fills in cfg and returns the URL. inside counts dials as the other side sees them.
	dig func(r *rig, cfg *pool.Config, inside *counter) (url string)
}

// A counter counts what goes on at a time.
type counter struct{ now, peak atomic.Int64 }

func (c *counter) enter() (leave func()) {
	c.reach(c.now.Add(1))
	return func() { c.now.Add(-1) }
}

func (c *counter) reach(n int64) {
	for p := c.peak.Load(); n > p && !c.peak.CompareAndSwap(p, n); p = c.peak.Load() {
	}
}

var holes = []hole{
	{"hook", speeches[0], false, hanging(false)},
	{"hook for HTTP/2", speeches[2], false, hanging(false)},
	{"hook that ignores its context", speeches[0], true, hanging(true)},
	{"resolver", speeches[1], false, func(_ *rig, cfg *pool.Config, inside *counter) string {
		cfg.Dialer = &dialer.Dialer{Resolver: hangingResolver{inside}}
		return "https://nowhere.test/"
	}},
	{"no SYN is answered", speeches[0], false, func(r *rig, cfg *pool.Config, _ *counter) string { return "http://" + r.deaf() }},
	{"no handshake", speeches[3], false, func(r *rig, _ *pool.Config, inside *counter) string { return "https://" + r.silent(inside) }},
	{"HTTP proxy", speeches[3], false, silentProxy("http")},
	{"TLS proxy", speeches[1], false, silentProxy("https")},
	{"SOCKS5", speeches[0], false, silentProxy("socks5")},
}

// hanging is a dial hook that takes three seconds, or hangs until its context ends.
func hanging(deaf bool) func(*rig, *pool.Config, *counter) string {
	return func(r *rig, cfg *pool.Config, inside *counter) string {
		over := make(chan struct{})
		r.onEnd(func() { close(over) })
		cfg.Base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			defer inside.enter()()
			done := ctx.Done()
			if deaf {
				done = nil
			}
			select {
			case <-done:
			case <-over:
			}
			return nil, errors.New("it took too long")
		}
		return "http://nowhere.test/"
	}
}

type hangingResolver struct{ inside *counter }

func (h hangingResolver) LookupHost(ctx context.Context, _ string) ([]string, error) {
	defer h.inside.enter()()
	<-ctx.Done()
	return nil, ctx.Err()
}

// silent starts a peer that says nothing, and returns its address.
func (r *rig) silent(inside *counter) string {
	return r.peerIn(plain, func(c *peerConn) {
		defer inside.enter()()
		c.drain()
	}).addr
}

func silentProxy(scheme string) func(*rig, *pool.Config, *counter) string {
	return func(r *rig, cfg *pool.Config, inside *counter) string {
		cfg.Base.Proxy = through(scheme, &rawPeer{addr: r.silent(inside)}, nil).Base.Proxy
		return never
	}
}

// Callers come and go, and what they wait for never comes: the dials that they leave don't
// pile up, and what they are told is true.
func TestDialsToAnUnreachableHostDontPileUp(t *testing.T) {
	var cases []func()
	for _, h := range holes {
		cases = append(cases, func() { t.Run(h.name, func(t *testing.T) { fallIn(t, h) }) })
	}
	side(t, cases)
}

func fallIn(t *testing.T, h hole) {
	const waves, callers, hurry = 4, 40, 20 * time.Millisecond
	r := newPart(t, h.sp.mode)
	var inside, dialing counter
	cfg := pool.Config{Base: &http.Transport{}}
	url := h.dig(r, &cfg, &inside)
	tr := r.client(h.sp, cfg)
	var left time.Time
	for range waves {
		together(callers, func(i int) {
			ctx, cancel := context.WithTimeout(t.Context(), hurry)
			defer cancel()
			c := newCall(ctx, http.MethodPost, url, bodyKinds[i%len(bodyKinds)])
			err := []front{bare, client, retrying}[i%3].over(tr).send(c)
			untouched(t, string(bodyKinds[i%len(bodyKinds)]), c)
			e := poolError(t, err)
			begun := e.Phase == pool.PhaseDial || e.Waited > 0 || e.Queued > 0 // else it came too late, on a busy machine
			if begun && e.Phase != pool.PhaseDial || !errors.Is(err, context.DeadlineExceeded) || !e.Timeout() || e.BodyTouched || !e.Phase.Unprocessed() {
				t.Errorf("%#v", e)
			}
			dialing.reach(int64(gauges(tr).Dialing))
		})
		left = time.Now()
		if !within(soon, func() bool { return gauges(tr).Dialing <= spareDials }) || gauges(tr).Waiting != 0 {
			t.Errorf("when all had left: %+v", gauges(tr))
		}
	}
	// The other side may notice an end a moment later; a hook that hangs on is noticed by nobody.
	seen := inside.peak.Load()
	if d := dialing.peak.Load(); d > mostDials || seen > 2*mostDials && !h.deaf {
		t.Errorf("%d dials at a time, %d as the other side saw it", d, seen)
	}
	if total := tr.Stats().Total; total.Dials > waves*mostDials || total.Dials == 0 || total.Failed == 0 {
		t.Errorf("%d dials, %d requests failed", total.Dials, total.Failed)
	}
	if testing.Short() {
		return // Close ends them
	}
	if !within(dialGrace+soon, func() bool { return gauges(tr) == counts{} }) {
		t.Errorf("%v after the last waiter: %+v", time.Since(left), gauges(tr))
	}
}
