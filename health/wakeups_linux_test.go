package health

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// exchange has the peer send n bytes, one by one, each after the one before was read.
func exchange(t testing.TB, c, s net.Conn, n int) {
	t.Helper()
	var b [1]byte
	for range n {
		if _, err := s.Write(b[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Fatal(err)
		}
	}
}

// Arrivals cost nothing, be it that the connection rested before.
func TestArrivalsDontWakeTheWatcher(t *testing.T) {
	for _, rested := range []bool{false, true} {
		client, server := pair(t)
		r := newRester(t, Watch, client)
		if rested {
			r.rest(t)
			r.Use()
		}
		woken := &r.by.(*instance).woken
		before := woken.Load()
		exchange(t, client, server, 20_000)
		r.wantNothing(t, Watch)
		if got := woken.Load() - before; got > 2 { // for wantNothing
			t.Errorf("rested: %v: 20,000 arrivals woke the watcher %d times", rested, got-2)
		}
	}
}

// Where the kernel gives no instance, or no place in it, the sweeper takes over.
func TestWatchFallsBackToTheSweeper(t *testing.T) {
	settle(t)
	defer func() { makeInstance = newInstance }()
	for name, make := range map[string]func() (*instance, error){
		"no instance": func() (*instance, error) { return nil, errors.New("too many open files") },
		"no place": func() (*instance, error) {
			in, err := newInstance()
			if err == nil {
				in.file.Close()
			}
			return in, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			makeInstance = make
			client, server := pair(t)
			r := newRester(t, Watch, client)
			if r.by != &sweeping {
				t.Fatalf("watched by %T", r.by)
			}
			r.rest(t)
			write(t, server, "x")
			r.want(t, "arrived")
			server.Close()
			r.want(t, "closed")
			settle(t)
		})
	}
}

func BenchmarkRest(b *testing.B) {
	client, _ := pair(b)
	w := Watch(client, func() {})
	defer w.Stop()
	f := func() {}
	b.ReportAllocs()
	for b.Loop() {
		w.Rest(f)
		w.Use()
	}
}

// What a connection's arrivals cost when it's watched, and how soon a resting one is told of.
func BenchmarkArrival(b *testing.B) {
	for name, prepare := range map[string]func(*Watcher){
		"watched":     func(*Watcher) {},
		"rest-forgot": func(w *Watcher) { w.Rest(func() {}) },
		"rest-used":   func(w *Watcher) { w.Rest(func() {}); w.Use() },
	} {
		b.Run(name, func(b *testing.B) {
			client, server := pair(b)
			w := Watch(client, func() {})
			defer w.Stop()
			woken := &w.by.(*instance).woken
			prepare(w)
			start := woken.Load()
			for b.Loop() {
				exchange(b, client, server, 1)
			}
			b.ReportMetric(float64(woken.Load()-start)/float64(b.N), "wakeups/op")
		})
	}
	b.Run("told", func(b *testing.B) {
		client, server := pair(b)
		w := Watch(client, func() {})
		defer w.Stop()
		told := make(chan time.Time, 1)
		var late time.Duration
		for b.Loop() {
			w.Rest(func() { told <- time.Now() })
			start := time.Now()
			server.Write([]byte{0})
			late += (<-told).Sub(start)
			client.Read(make([]byte, 1))
		}
		b.ReportMetric(float64(late.Nanoseconds())/float64(b.N), "ns-to-told")
	})
}
