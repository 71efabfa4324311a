package pool

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
	"example.com/connwise/internal/peer"
)

// Requests of all manners meet peers of all manners, by a bubble's clock, while connections
// are drained. Every request ends, none that is told to be unprocessed was executed and none
// was twice, every body is closed once, and at the end nothing is held any more and the books
// balance.
func TestSharedConnectionsWhateverHappens(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(strconv.Itoa(int(seed)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newUproar(t, seed).run() })
		})
	}
}

const (
	uproarWorkers = 24
	uproarEach    = 25
)

// An uproar is a Transport, its callers and its peers.
type uproar struct {
	*testing.T
	tr    *Transport
	cfg   Config
	srv   *peer.H2Server
	tame  atomic.Bool // from now on peers and dials do what they should
	open  atomic.Int64
	ids   atomic.Uint64
	mu    sync.Mutex // guards the following
	r     *rand.Rand
	execs map[string]int // by the request's id
}

func newUproar(t *testing.T, seed uint64) *uproar {
	u := &uproar{T: t, r: rand.New(rand.NewPCG(seed, 4)), execs: make(map[string]int)}
	u.srv = peer.NewH2(peer.H2Options{Handler: u.serve})
	pick := func(ds ...time.Duration) time.Duration { return ds[u.n(len(ds))] }
	u.cfg = Config{
		Base: &http.Transport{
			DialContext:           u.dial,
			Protocols:             new(http.Protocols),
			ResponseHeaderTimeout: 200 * time.Millisecond,
			DisableKeepAlives:     u.n(8) == 0,
			HTTP2:                 &http.HTTP2Config{StrictMaxConcurrentRequests: u.n(6) == 0},
		},
		ReadStallTimeout: 200 * time.Millisecond,
		MaxConnsPerHost:  []int{0, 1, 1, 2, 4}[u.n(5)],
		MaxIdlePerHost:   u.n(3),
		MaxWait:          pick(0, 0, 50*time.Millisecond),
		MaxWaiters:       []int{0, 0, 10}[u.n(3)],
		MaxConnAge:       pick(0, 100*time.Millisecond),
		ProxyIdleTimeout: pick(0, 40*time.Millisecond),
		BeforeSend:       u.beforeSend,
	}
	u.cfg.Base.Protocols.SetUnencryptedHTTP2(true)
	return u
}

// n is a random number below k.
func (u *uproar) n(k int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.r.IntN(k)
}

func (u *uproar) rest(most time.Duration) { time.Sleep(time.Duration(u.n(int(most)))) }

func (u *uproar) run() {
	var err error
	if u.tr, err = New(u.cfg); err != nil {
		u.Fatal(err)
	}
	defer u.srv.Close()
	defer u.tr.Close()
	stop := make(chan struct{})
	go u.disturb(stop)
	var wg sync.WaitGroup
	for range uproarWorkers {
		wg.Go(func() {
			for range uproarEach {
				u.request()
				u.rest(10 * time.Millisecond)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Hour):
		u.Errorf("a request hangs: %+v", u.tr.Stats())
	}
	close(stop)
	u.tame.Store(true)
	time.Sleep(20 * time.Second) // hooks, dials, pauses and PINGs end
	u.wantCalm()
}

// wantCalm is the end: nothing is held, a request goes through, and the books balance.
func (u *uproar) wantCalm() {
	u.Helper()
	synctest.Wait()
	for _, h := range u.tr.Stats().Hosts {
		if h.InUse != 0 || h.Waiting != 0 || h.Dialing != 0 {
			u.Errorf("something is held: %+v", h)
		}
	}
	ctx, cancel := context.WithTimeout(u.Context(), 5*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://host.test/", nil)
	if resp, err := u.tr.RoundTrip(req); err != nil {
		u.Errorf("a request afterwards: %v", err)
	} else {
		resp.Body.Close()
	}
	if err := u.tr.Shutdown(ctx); err != nil {
		u.Errorf("Shutdown: %v", err)
	}
	time.Sleep(5 * time.Second)
	(&script{T: u.T, tr: u.tr}).wantAtRest()
	if n := u.open.Load(); n != 0 {
		u.Errorf("%d connections are open", n)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, n := range u.execs {
		if n > 1 && id != "" {
			u.Errorf("request %s was executed %d times", id, n)
		}
	}
}

// disturb does what an operator may do at any time.
func (u *uproar) disturb(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(u.n(int(60 * time.Millisecond)))):
		}
		switch u.n(3) {
		case 0:
			u.tr.Drain("host.test:80")
		case 1:
			u.tr.CloseIdleConnections()
		default:
			u.tr.Stats()
		}
	}
}

func (u *uproar) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n := u.open.Add(1)
	if limit := u.cfg.MaxConnsPerHost; limit > 0 && n > int64(limit) {
		u.Errorf("%d connections at a time", n)
	}
	u.rest(5 * time.Millisecond)
	if how := u.n(12); how < 2 && !u.tame.Load() {
		if how == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
		}
		u.open.Add(-1)
		return nil, errors.New("no way")
	}
	client, server := fakenet.Pipe()
	go u.srv.ServeConn(server)
	return &countedConn{Conn: client, open: &u.open}, nil
}

func (u *uproar) beforeSend(*http.Request) error {
	if u.tame.Load() {
		return nil
	}
	switch u.n(40) {
	case 0:
		return errors.New("veto")
	case 1:
		panic("hook")
	case 2:
		u.rest(200 * time.Millisecond)
	}
	return nil
}

// request makes one request, one way or the other.
func (u *uproar) request() {
	ctx, cancel := context.WithCancel(u.Context())
	defer cancel()
	if u.n(3) == 0 {
		time.AfterFunc(time.Duration(u.n(int(20*time.Millisecond))), cancel)
	}
	id := strconv.FormatUint(u.ids.Add(1), 10)
	req, err := http.NewRequestWithContext(ctx, "POST", "http://host.test/", nil)
	if err != nil {
		u.Fatal(err)
	}
	var bodies watchedBodies
	switch u.n(4) {
	case 0:
		req.Method = "GET"
	case 1: // at once
		req.Body, req.ContentLength = bodies.add(), bodySize
	case 2:
		req.Body = bodies.add()
		req.GetBody = func() (io.ReadCloser, error) { return bodies.add(), nil }
	case 3:
		req.Body = bodies.add()
		if req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }; u.n(2) == 0 {
			req.GetBody = nil
		}
	}
	req.Header.Set(peer.HeaderID, id)
	if returned := u.roundTrip(req, id); returned {
		time.Sleep(moment) // an upload's goroutine closes the body
		bodies.wantClosed(u.T)
	}
}

// roundTrip returns false if the hook has panicked.
func (u *uproar) roundTrip(req *http.Request, id string) (returned bool) {
	defer func() {
		if p := recover(); p != nil && p != "hook" {
			panic(p)
		}
	}()
	resp, err := u.tr.RoundTrip(req)
	if err == nil {
		if u.n(3) > 0 {
			io.Copy(io.Discard, resp.Body)
		}
		resp.Body.Close()
		return true
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		u.Errorf("a bare error: %v", err)
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.execs[id]; n > 0 && e.Phase.Unprocessed() {
		u.Errorf("executed %d times, but %v", n, err)
	}
	return true
}
