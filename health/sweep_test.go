//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPauseAfter(t *testing.T) {
	for _, tt := range []struct{ took, want time.Duration }{
		{0, 100 * time.Millisecond},
		{time.Millisecond, 100 * time.Millisecond},
		{2 * time.Millisecond, 200 * time.Millisecond},
		{10 * time.Millisecond, time.Second},
		{time.Second, 5 * time.Second},
	} {
		if got := sweeping.pauseAfter(tt.took); got != tt.want {
			t.Errorf("after %v it rests for %v, want %v", tt.took, got, tt.want)
		}
	}
}

// For a peek, bytes hide the FIN behind them until they are read.
func TestSweeperAndBytesBeforeTheEnd(t *testing.T) {
	client, server := pair(t)
	s := newSweeper(t, peekArrived)
	r := newRester(t, s.watch, client)
	write(t, server, "x")
	server.Close()
	awaitEvent(t, client, unix.POLLIN)
	r.wantNothing(t, s.watch)
	wantRead(t, client, "x")
	r.want(t, "closed")
}

// Who is told of an RST wants to see it.
func TestSweeperLeavesTheErrorToTheLook(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a peek is all there is")
	}
	client, server := pair(t)
	r := newRester(t, newSweeper(t, arrived).watch, client)
	reset(t, server)
	r.want(t, "closed")
	wantCause(t, NewProbe(client).Look, CauseReset)
}

func TestSweeperOfClosedConnections(t *testing.T) {
	client, _ := pair(t)
	s := newSweeper(t, arrived)
	r := newRester(t, s.watch, client)
	client.Close()
	r.wantNothing(t, s.watch) // closed on this side is no news
	if s.watch(client, func() {}) != nil {
		t.Error("a closed connection can be watched")
	}
	if !r.Stop() || r.Stop() {
		t.Error("Stop is false, or true twice")
	}
}

// Watches that go while a sweep is under way must not keep others from being looked at.
func TestSweeperMissesNone(t *testing.T) {
	const n = 3*sweepChunk + 5
	s := newSweeper(t, arrived)
	s.running = true // the sweeps are made here
	var ws [n]*Watcher
	var calls [n]atomic.Int32
	for i := range n {
		client, server := connect(t, "tcp", "127.0.0.1:0")
		server.Close()
		awaitEvent(t, client.(*net.TCPConn), unix.POLLIN)
		ws[i] = s.watch(client, func() {
			calls[i].Add(1)
			ws[(i*7+3)%n].Stop() // some other one
		})
	}
	if s.sweep() {
		t.Error("connections are left, though all have ended")
	}
	for i := range n {
		if c := calls[i].Load(); c > 1 || ws[i].token != 0 {
			t.Errorf("connection %d: %d calls, token %d", i, c, ws[i].token)
		}
	}
	if s.running || s.watchers != nil {
		t.Error("the sweeper goes on")
	}
}

func TestSweepEndsAndAllocatesLittle(t *testing.T) {
	s := newSweeper(t, peekArrived)
	s.running = true
	for range sweepChunk + 5 {
		client, _ := pair(t)
		w := s.watch(client, func() {})
		defer func() { w.Stop(); s.goesOn() }()
	}
	if n := testing.AllocsPerRun(100, func() { s.sweep() }); n > 2 {
		t.Errorf("%v allocations for a sweep", n)
	}
}

func BenchmarkSweep(b *testing.B) {
	for name, look := range map[string]func(uintptr) (bool, bool){"poll": arrived, "peek": peekArrived} {
		b.Run(name, func(b *testing.B) {
			s := newSweeper(b, look)
			s.running = true
			for range 100 {
				client, _ := pair(b)
				w := s.watch(client, func() {})
				defer func() { w.Stop(); s.goesOn() }()
			}
			b.ReportAllocs()
			for b.Loop() {
				s.sweep()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/look")
		})
	}
}
