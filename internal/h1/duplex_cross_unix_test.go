//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package h1

import (
	"io"
	"math/rand"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/wire"
)

// crossings are what a peer, or this side, can do at the same time as a request is sent. Where
// an answer comes, the only other outcome is that the look has found it.
var crossings = []struct {
	name    string
	answers bool
	do      func(p *pair)
}{
	{"an early answer", true, func(p *pair) { io.WriteString(p.peer, ok5) }},
	{"in pieces", true, func(p *pair) { io.WriteString(p.peer, ok5[:30]); io.WriteString(p.peer, ok5[30:]) }},
	{"with its end", true, func(p *pair) { io.WriteString(p.peer, ok5); p.peer.CloseWrite() }},
	{"to the request", true, func(p *pair) { p.hear(); io.WriteString(p.peer, ok5) }},
	{"a half-close", false, func(p *pair) { p.peer.CloseWrite() }},
	{"a reset", false, func(p *pair) { p.peer.SetLinger(0); p.peer.Close() }},
	{"a close on this side", false, func(p *pair) { p.nc.Close() }},
}

// Whatever comes, and whenever, isn't waited for in vain: not what comes before the look, nor
// between it, the write and the wait.
func TestMergedExchangeMeetsEverything(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewSource(int64(g)))
			for range 40 {
				for _, cr := range crossings {
					for _, look := range []bool{false, true} {
						p := newPair(t, Options{HeaderTimeout: 10 * time.Second}, true)
						done := make(chan struct{})
						go func(after int) {
							defer close(done)
							yield(after)
							cr.do(p)
						}(r.Intn(300))
						yield(r.Intn(150))
						meet(t, p, look, cr.answers, cr.name)
						p.c.Close() // also what hears a request that was never sent
						<-done
						p.peer.Close()
					}
				}
			}
		})
	}
	wg.Wait()
}

func yield(times int) {
	for range times {
		runtime.Gosched()
	}
}

// meet sends a request, which has to end in time.
func meet(t *testing.T, p *pair, look, answered bool, name string) {
	a := &attempt{t: t, ret: make(chan struct{}), ends: make(chan wire.End, 8)}
	req := get(t)
	req.Look = look
	resp, err := a.x.Start(p.c, req, a)
	_, late := err.(*wire.TimeoutError)
	switch {
	case late:
		t.Errorf("%s, look %v: nobody has told of it", name, look)
	case err == wire.ErrStale:
		if sent := a.x.Facts().Sent; !look || sent > 0 {
			t.Errorf("%s, look %v: stale, with %d bytes sent", name, look, sent)
		}
	case err == nil:
		b, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); string(b) != "hello" || err != nil {
			t.Errorf("%s, look %v: body %q, %v", name, look, b, err)
		}
	case answered:
		t.Errorf("%s, look %v: %v", name, look, err)
	}
}
