package pool

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

func TestAliasTable(t *testing.T) {
	a, b := &host{}, &host{}
	table := newAliasTable()
	plain, secure := rawKey{scheme: "http", host: "a.test"}, rawKey{scheme: "https", host: "a.test"}
	table.add(plain, a)
	table.add(secure, b)
	for range 2 { // by the map, and by the last find
		for raw, want := range map[rawKey]*host{plain: a, secure: b, {scheme: "http", host: "b.test"}: nil} {
			if got := table.find(raw); got != want {
				t.Errorf("%v: %p, want %p", raw, got, want)
			}
		}
	}
	table.find(plain)
	table.remove(plain)
	if table.find(plain) != nil || table.find(secure) != b || table.len() != 1 {
		t.Errorf("after its removal the alias is there, or the other one isn't; %d are left", table.len())
	}
}

// A find never returns a host whose alias was removed before.
func TestAliasTableForgets(t *testing.T) {
	table := newAliasTable()
	raw := rawKey{scheme: "http", host: "a.test"}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					table.find(raw)
					runtime.Gosched() // a crowd of readers lets a writer wait for long
				}
			}
		})
	}
	for range 500 {
		table.add(raw, &host{})
		table.remove(raw)
		if table.find(raw) != nil {
			t.Error("found after its removal")
			break
		}
	}
	close(stop)
	wg.Wait()
}

// A map from which most has gone keeps nothing of what that took, and isn't copied often.
func TestShrunk(t *testing.T) {
	const n, left = 100_000, 100
	before := memory()
	m, most := make(map[int]string), n
	for i := range n {
		m[i] = fmt.Sprint(i)
	}
	copies := 0
	for i := range n - left {
		delete(m, i)
		was := most
		if m = shrunk(m, &most); most != was {
			copies++
		}
	}
	if len(m) != left || m[n-1] != fmt.Sprint(n-1) {
		t.Fatalf("%d entries, the last is %q", len(m), m[n-1])
	}
	if copies < 1 || copies > 6 {
		t.Errorf("copied %d times", copies)
	}
	if after := memory(); after.HeapAlloc > before.HeapAlloc+256<<10 {
		t.Errorf("%d KiB are kept", (after.HeapAlloc-before.HeapAlloc)>>10)
	}
	runtime.KeepAlive(m)
}
