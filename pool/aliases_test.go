package pool

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

func TestAliasTable(t *testing.T) {
	table := newAliasTable()
	plain := &alias{rawKey{scheme: "http", host: "a.test"}, &host{}}
	secure := &alias{rawKey{scheme: "https", host: "a.test"}, &host{}}
	proxied := &alias{rawKey{scheme: "https", host: "a.test", proxy: "http://p.test"}, &host{}}
	for _, a := range []*alias{plain, secure, proxied} {
		table.add(a)
	}
	for raw, want := range map[rawKey]*host{plain.raw: plain.h, secure.raw: secure.h, proxied.raw: proxied.h, {scheme: "http", host: "b.test"}: nil, {}: nil} {
		if got := table.find(raw); got != want {
			t.Errorf("%v: %p, want %p", raw, got, want)
		}
	}
	table.remove(plain)
	if table.find(plain.raw) != nil || table.find(secure.raw) != secure.h || table.n != 2 {
		t.Errorf("after its removal the alias is there, or the other one isn't; %d are left", table.n)
	}
}

// However many come and go, those that are there are found, and the table is no larger than it
// has to be, nor ever full.
func TestAliasTableGrowsAndShrinks(t *testing.T) {
	table := newAliasTable()
	var all []*alias
	check := func(most int) {
		t.Helper()
		for _, a := range all {
			if table.find(a.raw) != a.h {
				t.Fatalf("%v isn't found among %d", a.raw, len(all))
			}
		}
		if slots := len(*table.slots.Load()); table.n != len(all) || table.used < table.n || table.used >= slots || slots > most {
			t.Fatalf("%d aliases, %d slots used of %d, want %d aliases and at most %d slots", table.n, table.used, slots, len(all), most)
		}
	}
	for i := range 5000 {
		a := &alias{rawKey{scheme: "http", host: fmt.Sprint("h", i)}, &host{}}
		table.add(a)
		all = append(all, a)
		if i%1000 == 0 {
			check(max(4*len(all), fewestSlots))
		}
	}
	for range 3 * len(all) { // a crawler's
		table.remove(all[0])
		a := &alias{rawKey{scheme: "http", host: all[0].raw.host + "x"}, &host{}}
		table.add(a)
		all = append(all[1:], a)
	}
	check(4 * len(all))
	for len(all) > 0 {
		table.remove(all[0])
		all = all[1:]
	}
	check(fewestSlots)
}

// A find never returns a host whose alias was removed before, and never misses one that is there,
// also while others come and go.
func TestAliasTableForgets(t *testing.T) {
	table := newAliasTable()
	stays := &alias{rawKey{scheme: "http", host: "b.test"}, &host{}}
	table.add(stays)
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
					if table.find(stays.raw) != stays.h {
						t.Error("not found though it is there")
						return
					}
					if h := table.find(raw); h != nil && h.key.addr != "a.test:80" {
						t.Error("found another")
						return
					}
				}
			}
		})
	}
	for range 500 {
		a := &alias{raw, &host{key: hostKey{addr: "a.test:80"}}}
		table.add(a)
		if table.find(raw) != a.h {
			t.Error("not found after it was added")
		}
		table.remove(a)
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
