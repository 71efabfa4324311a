//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
)

// Everything at once, from many goroutines, beside Reads.
func TestWatchesUnderStress(t *testing.T) {
	eachLookout(t, func(t *testing.T, watch watchFunc) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 10 {
					if err := stress(t, watch, (i+j)%2 == 0); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// stress makes some exchanges on a connection that is watched and rests, and ends it.
func stress(t testing.TB, watch watchFunc, peerCloses bool) error {
	c, s := connect(t, "tcp", "127.0.0.1:0")
	defer c.Close()
	defer s.Close()
	go io.Copy(s, s)
	var closed, arrived atomic.Int32
	w := watch(c, func() { closed.Add(1) })
	b := make([]byte, 1)
	for range 20 {
		w.Rest(func() { arrived.Add(1) })
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := c.Read(b); err != nil {
			return err
		}
		w.Use()
	}
	if peerCloses {
		s.Close()
		for closed.Load() == 0 {
			pause()
		}
	}
	stopped := w.Stop()
	if n := closed.Load(); n > 1 || stopped == peerCloses || arrived.Load() > 20 {
		return fmt.Errorf("closed was called %d times, arrived %d, and Stop says %v", n, arrived.Load(), stopped)
	}
	return nil
}
