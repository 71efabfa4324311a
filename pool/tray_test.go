package pool

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A trayRig has a host with one connection in the test's hands, and the host's lock in those of
// somebody who doesn't let it go.
type trayRig struct {
	*testing.T
	tr *Transport
	h  *host
	c  *conn
}

func newTrayRig(t *testing.T, cfg Config) *trayRig {
	t.Helper()
	cfg.Base = &http.Transport{DialContext: dialStill, DisableKeepAlives: cfg.Base != nil && cfg.Base.DisableKeepAlives}
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	r := &trayRig{T: t, tr: tr, h: hostNamed(t, tr, "host.test")}
	r.c = r.take().c
	r.c.uses++
	return r
}

func hostNamed(tb testing.TB, tr *Transport, name string) *host {
	req, _ := http.NewRequest(http.MethodGet, "http://"+name+"/", nil)
	h, err := tr.hostFor(req)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func (r *trayRig) wish() wish { return wish{ctx: r.Context(), w: new(*waiter)} }

func (r *trayRig) take() grant {
	r.Helper()
	g, err := r.h.acquire(r.wish())
	if err != nil {
		r.Fatal(err)
	}
	return g
}

// layDown gives the connection back while somebody has the lock, and somebody else is about to
// clear the tray: the test, with clear.
func (r *trayRig) layDown() bool {
	r.h.tray.clearing.Store(true)
	return r.h.layDown(r.c)
}

func (r *trayRig) clear() {
	r.h.tray.clearing.Store(false)
	r.h.clearTray()
}

// A connection goes from one request to the next although somebody has the host's lock.
func TestTrayPassesConnectionsWithoutTheLock(t *testing.T) {
	r := newTrayRig(t, Config{})
	r.h.tray.clearing.Store(true)
	r.h.mu.Lock()
	if !r.h.put(r.c) {
		t.Error("the connection wasn't kept")
	}
	g := r.take()
	if g.c != r.c || !g.reused || !g.wasIdle {
		t.Errorf("another connection, or one that counts as new: %+v", g)
	}
	if _, ok := r.h.pickUp(r.wish(), time.Now()); ok {
		t.Error("the same connection was taken twice")
	}
	r.h.mu.Unlock()
	r.clear()
	if st := r.tr.Stats().Hosts[0]; st.InUse != 1 || st.Idle != 0 {
		t.Errorf("in use %d, idle %d, want 1 and 0", st.InUse, st.Idle)
	}
	r.h.put(g.c)
	if st := r.tr.Stats().Hosts[0]; st.InUse != 0 || st.Idle != 1 {
		t.Errorf("afterwards: in use %d, idle %d, want 0 and 1", st.InUse, st.Idle)
	}
}

// What lies on the tray goes to those who wait, and not to who comes later; else it is idle.
func TestTrayIsClearedInOrder(t *testing.T) {
	r := newTrayRig(t, Config{MaxConnsPerHost: 1})
	served := make(chan grant)
	go func() {
		g, err := r.h.acquire(r.wish())
		if err != nil {
			t.Error(err)
		}
		served <- g
	}()
	eventually(t, "the request waits", func() bool { return r.tr.Stats().Hosts[0].Waiting == 1 })
	if !r.layDown() {
		t.Fatal("it can't be laid down")
	}
	if _, ok := r.h.pickUp(r.wish(), time.Now()); ok {
		t.Fatal("a newcomer has overtaken the one who waits")
	}
	r.clear()
	if g := <-served; g.c != r.c {
		t.Error("the one who waited got another connection")
	}
	r.layDown()
	r.clear()
	if st := r.tr.Stats().Hosts[0]; st.Idle != 1 || st.InUse != 0 {
		t.Errorf("idle %d, in use %d, want 1 and 0", st.Idle, st.InUse)
	}
}

// The next user judges what he finds.
func TestTrayHandsOutNothingStale(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil  func(*trayRig)
		reason CloseReason
	}{
		"drained":     {func(r *trayRig) { r.tr.Drain("host.test:80") }, ReasonIdleClosed},
		"too idle":    {func(r *trayRig) { r.c.idleSince = time.Now().Add(-time.Minute) }, ReasonIdleLimit},
		"peer closed": {func(r *trayRig) { r.c.peerClosed.Store(true) }, ReasonPeerClosed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrayRig(t, Config{ProxyIdleTimeout: time.Minute})
			if !r.layDown() {
				t.Fatal("it can't be laid down")
			}
			tt.spoil(r)
			if g, ok := r.h.pickUp(r.wish(), time.Now()); ok {
				t.Errorf("it was handed out: %+v", g)
			}
			if st := r.tr.Stats().Hosts[0]; st.Open != 0 || st.ClosedBy[tt.reason] != 1 {
				t.Errorf("open %d, closed by %v", st.Open, st.ClosedBy)
			}
		})
	}
}

// What only the lock's holder can decide isn't laid down, nor taken up.
func TestTrayIsNotForAll(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg   Config
		spoil func(*trayRig)
	}{
		"keep-alives are off":           {Config{Base: &http.Transport{DisableKeepAlives: true}}, func(*trayRig) {}},
		"requests are counted":          {Config{MaxRequestsPerConn: 9}, func(*trayRig) {}},
		"the peer closes behind answer": {Config{}, func(r *trayRig) { r.unasked() }},
		"shutting down":                 {Config{}, func(r *trayRig) { r.tr.raise(stateClosing) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrayRig(t, tt.cfg)
			tt.spoil(r)
			if r.layDown() {
				t.Error("it was laid down")
			}
		})
	}
	r := newTrayRig(t, Config{})
	r.layDown()
	for name, ws := range map[string]wish{
		"caution": {ctx: t.Context(), w: new(*waiter), caution: &caution{after: time.Second}},
		"avoid":   {ctx: t.Context(), w: new(*waiter), taste: &taste{avoid: []string{"192.0.2.1:80"}}},
	} {
		if _, ok := r.h.pickUp(ws, time.Now()); ok {
			t.Errorf("%s: it was taken", name)
		}
	}
	r.clear()
}

// unasked has another connection of the host end with bytes that nobody asked for.
func (r *trayRig) unasked() {
	c := r.take().c
	c.uses++
	r.h.retire(c, ReasonUnsolicited)
}

// A crowd over few connections: each is in one pair of hands at a time, and in the end all are
// idle, though connections are drained, counted and looked at all the time.
func TestTrayUnderACrowd(t *testing.T) {
	const lanes, trips, limit = 16, 3000, 4
	tr, err := New(Config{Base: &http.Transport{DialContext: dialStill}, MaxConnsPerHost: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	h := hostNamed(t, tr, "host.test")
	var held sync.Map // *conn -> *atomic.Bool
	var wg sync.WaitGroup
	for lane := range uint64(lanes) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(lane, 5))
			for range trips {
				switch r.IntN(400) {
				case 0:
					tr.Drain("host.test:80")
				case 1:
					tr.Stats()
				}
				g, err := h.acquire(wish{ctx: t.Context(), w: new(*waiter)})
				if err != nil {
					t.Error(err)
					return
				}
				v, _ := held.LoadOrStore(g.c, new(atomic.Bool))
				if v.(*atomic.Bool).Swap(true) {
					t.Error("a connection in two pairs of hands")
				}
				g.c.uses++
				g.c.idleSince = time.Now()
				v.(*atomic.Bool).Store(false)
				h.put(g.c)
			}
		})
	}
	wg.Wait()
	if st := tr.Stats().Hosts[0]; st.InUse != 0 || st.Waiting != 0 || st.Open > limit || st.Idle != st.Open {
		t.Errorf("in use %d, waiting %d, open %d, idle %d", st.InUse, st.Waiting, st.Open, st.Idle)
	}
	tr.Close()
	(&script{T: t, tr: tr}).wantAtRest()
}
