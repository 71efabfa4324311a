package pool

import (
	"fmt"
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
				}
			}
		})
	}
	for range 5000 {
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

func TestShrunk(t *testing.T) {
	m, most := make(map[int]string), 0
	for i := range 1000 {
		m[i], most = fmt.Sprint(i), i+1
	}
	copies := 0
	for i := range 1000 {
		delete(m, i)
		before := most
		if m = shrunk(m, &most); most != before {
			copies++
		}
		if len(m) != 999-i || len(m) > 0 && m[999] != "999" {
			t.Fatalf("after %d deletions %d entries, %q", i+1, len(m), m[999])
		}
	}
	if copies < 1 || copies > 4 {
		t.Errorf("copied %d times", copies)
	}
}
