package scenario

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A quirk is what a dial hook does wrong, once.
type quirk struct {
	name string
	do   func() (net.Conn, error)
	own  bool // errHook is in the chain
}

var errHook = errors.New("the hook's own error")

var quirks = []quirk{
	{"panics with an error", func() (net.Conn, error) { panic(errHook) }, true},
	{"panics with a text", func() (net.Conn, error) { panic("no such luck") }, false},
	{"ends its goroutine", func() (net.Conn, error) { runtime.Goexit(); return nil, nil }, false},
	{"returns nothing", func() (net.Conn, error) { return nil, nil }, false},
	{"returns an error", func() (net.Conn, error) { return nil, errHook }, true},
}

// A hook that goes wrong fails its dial: the process and the slot are as before, and the
// next request is served.
func TestAHookThatGoesWrongFailsItsDialAlone(t *testing.T) {
	atOnce(t, func(t *testing.T, r *rig, sp speech) {
		for _, secure := range []bool{false, true} { // the hook for TLS
			for _, q := range quirks {
				if sp.tls || !secure {
					oddHook(t, r, sp, secure, q)
				}
			}
		}
	})
}

func oddHook(t *testing.T, r *rig, sp speech, secure bool, q quirk) {
	t.Helper()
	s := r.site(sp, manners{})
	var once sync.Once
	odd := func(good hook) hook {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			first := false
			once.Do(func() { first = true })
			if first {
				return q.do()
			}
			return good(ctx, network, addr)
		}
	}
	base := &http.Transport{DialContext: odd(new(net.Dialer).DialContext)}
	if secure {
		base = &http.Transport{DialTLSContext: odd(tlsHook(sp))}
	}
	tr := r.client(sp, pool.Config{MaxConnsPerHost: 1, Base: base})
	c := newPatient(t, http.MethodPost, s.url, oneShot)
	start := time.Now()
	err := doer(tr.RoundTrip).send(c)
	what := label(q.name, "for TLS:", secure)
	if err == nil {
		t.Fatalf("%s: no error", what)
	}
	untouched(t, what, c)
	if e := poolError(t, err); e.Phase != pool.PhaseDial || e.Timeout() || errors.Is(err, errHook) != q.own || time.Since(start) > soon {
		t.Errorf("%s: after %v: %#v (%v)", what, time.Since(start), e, err)
	}
	if g := gauges(tr); g != (counts{}) {
		t.Errorf("%s: %+v", what, g)
	}
	doer(tr.RoundTrip).must(t, newPatient(t, http.MethodPost, s.url, oneShot))
}

// What a hook returns when nobody waits any more is closed: behind a deadline of the dial,
// and behind Close.
func TestAConnectionThatComesTooLateIsClosed(t *testing.T) {
	atOnce(t, func(t *testing.T, r *rig, sp speech) {
		s := r.site(sp, manners{})
		release := make(chan struct{})
		var closed, opened atomic.Int64
		late := func(_ context.Context, network, addr string) (net.Conn, error) {
			<-release
			c, err := net.Dial(network, addr)
			if err != nil {
				return nil, err
			}
			opened.Add(1)
			return &closing{Conn: c, before: func() { closed.Add(1) }}, nil
		}
		tr := r.client(sp, pool.Config{Base: &http.Transport{DialContext: late}})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		err := doer(tr.RoundTrip).send(newCall(ctx, http.MethodPost, s.url, oneShot))
		if e := poolError(t, err); !errors.Is(err, context.DeadlineExceeded) || !e.Phase.Unprocessed() {
			t.Errorf("%v", err)
		}
		start := time.Now()
		tr.Close()
		if took := time.Since(start); took > soon {
			t.Errorf("Close took %v", took)
		}
		close(release)
		if !within(patience, func() bool { return opened.Load() == 1 && closed.Load() == 1 }) {
			t.Errorf("%d connections came too late, %d were closed", opened.Load(), closed.Load())
		}
	})
}

// A closing connection calls a function when it is closed.
type closing struct {
	net.Conn
	before func()
}

func (c *closing) Close() error { c.before(); return c.Conn.Close() }

// A connection's Close that hangs, as of a hook's own type, holds up neither Close nor
// requests on others.
func TestAHooksConnectionWhoseCloseHangsHoldsNobody(t *testing.T) {
	ends := map[string]func(*pool.Transport, string){
		"CloseIdleConnections": func(tr *pool.Transport, _ string) { tr.CloseIdleConnections() },
		"Drain":                func(tr *pool.Transport, host string) { tr.Drain(host) },
		"Close":                func(tr *pool.Transport, _ string) { tr.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			atOnce(t, func(t *testing.T, r *rig, sp speech) {
				s := r.site(sp, manners{})
				release := make(chan struct{})
				t.Cleanup(sync.OnceFunc(func() { close(release) }))
				first := true
				tr := r.client(sp, pool.Config{Base: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := new(net.Dialer).DialContext(ctx, network, addr)
					if first && err == nil {
						first = false
						c = &closing{Conn: c, before: func() { <-release }}
					}
					return c, err
				}}})
				do := doer(tr.RoundTrip)
				do.must(t, newPatient(t, http.MethodPost, s.url, oneShot))
				done := make(chan struct{})
				go func() { defer close(done); end(tr, s.addr) }()
				select {
				case <-done:
				case <-time.After(soon):
					t.Errorf("%s hasn't returned", name)
				}
				if name != "Close" {
					do.must(t, newPatient(t, http.MethodPost, s.url, oneShot))
				}
			})
		})
	}
}
