package pool

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// idleAges makes n hosts, each with an idle connection that is a second younger than the one
// before.
func idleAges(tb testing.TB, tr *Transport, n int) []*conn {
	conns := make([]*conn, n)
	for i := range conns {
		h := hostNamed(tb, tr, fmt.Sprintf("host%d.test", i))
		g, err := h.acquire(wish{ctx: tb.Context(), w: new(*waiter)})
		if err != nil {
			tb.Fatal(err)
		}
		conns[i] = g.c
	}
	start := time.Now().Add(-time.Hour)
	for i, c := range conns {
		c.uses, c.idleSince = 1, start.Add(time.Duration(i)*time.Second)
	}
	return conns
}

func newBound(tb testing.TB, maxIdle int) *Transport {
	tr, err := New(Config{Base: &http.Transport{DialContext: dialStill, MaxIdleConns: maxIdle}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tr.Close() })
	return tr
}

// With few hosts the connection that goes is the one that has been idle longest.
func TestIdleBoundTakesTheOldest(t *testing.T) {
	const hosts, bound = sampled, sampled / 2
	tr := newBound(t, bound)
	conns := idleAges(t, tr, hosts)
	for i, c := range slices.Backward(conns) {
		c.h.put(c)
		if n := min(hosts-i, bound); tr.idle.Load() != int64(n) {
			t.Fatalf("%d are idle, want %d", tr.idle.Load(), n)
		}
	}
	for i, c := range conns {
		if open := c.h.stats().Open == 1; open != (i >= bound) {
			t.Errorf("connection %d: open %t; the older half had to go", i, open)
		}
	}
}

// With many it is one of the oldest, nearly always, and hosts that have no idle connection any
// more are left out.
func TestIdleBoundTakesOldOnes(t *testing.T) {
	const hosts, bound = 400, 200
	tr := newBound(t, bound)
	tr.set.maxIdle = hosts
	for _, c := range idleAges(t, tr, hosts) {
		c.h.put(c)
	}
	tr.set.maxIdle = bound
	tr.keepIdleBound()
	if n := tr.idle.Load(); n != bound {
		t.Fatalf("%d are idle, want %d", n, bound)
	}
	young := 0
	for _, st := range tr.Stats().Hosts {
		var i int
		if fmt.Sscanf(st.Host, "host%d.test", &i); i >= hosts-bound/2 && st.Open == 0 {
			young++
		}
	}
	if young > bound/10 {
		t.Errorf("%d of the %d youngest had to go", young, bound/2)
	}
	for c := tr.idlers.oldest(); c != nil; c = tr.idlers.oldest() { // takes out the others as it meets them
		c.h.dropIdle(c, ReasonIdleCap)
	}
	if n := len(tr.idlers.hosts); n != 0 || tr.idle.Load() != 0 {
		t.Errorf("%d hosts are listed, %d connections idle", n, tr.idle.Load())
	}
}

// A request to a new host while the bound is reached: a connection of another host has to go. It
// costs the same with many hosts as with few.
func BenchmarkIdleBound(b *testing.B) {
	for _, hosts := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			tr := newBound(b, hosts)
			for _, c := range idleAges(b, tr, hosts) {
				c.h.put(c)
			}
			i, before := 0, cpuTime()
			for b.Loop() {
				h := hostNamed(b, tr, fmt.Sprintf("new%d.test", i))
				i++
				g, err := h.acquire(wish{ctx: b.Context(), w: new(*waiter)})
				if err != nil {
					b.Fatal(err)
				}
				g.c.uses++
				h.put(g.c)
			}
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
