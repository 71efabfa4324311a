package dialer

import (
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// attempts counts a Dialer's connects by address.
type attempts struct {
	mu sync.Mutex
	n  map[string]int
}

func (a *attempts) control(_, addr string, _ syscall.RawConn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == nil {
		a.n = make(map[string]int)
	}
	a.n[addr]++
	return nil
}

func (a *attempts) at(addr string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n[addr]
}

// A dead address costs its time once, and a refusing one a round trip once.
func TestMemorySparesTheFailed(t *testing.T) {
	const good, refused, dead, other = 2, 3, 11, 12
	f := newFarm(t, good)
	f.kill(t, dead, other)
	tests := []struct {
		name  string
		hosts []int
		first time.Duration // what the first dial takes at least
	}{
		{"dead", []int{dead, good}, defaultFallbackDelay},
		{"refused", []int{refused, good}, 0},
		{"all sorts", []int{dead, refused, other, good}, 2 * defaultFallbackDelay},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var count attempts
			d := Dialer{Memory: &Memory{}, Control: count.control}
			for i := range 20 {
				start := time.Now()
				c, err := f.dial(t.Context(), d, tt.hosts...)
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				took := time.Since(start)
				if i == 0 && took < tt.first {
					t.Errorf("the first dial took %v, want %v at least", took, tt.first)
				}
				if i > 0 && took >= defaultFallbackDelay {
					t.Errorf("dial %d took %v", i, took)
				}
			}
			for _, h := range tt.hosts {
				want := 1
				if h == good {
					want = 20
				}
				if n := count.at(f.addr(h)); n != want {
					t.Errorf("%s was tried %d times, want %d", f.addr(h), n, want)
				}
			}
		})
	}
}

// Without a memory each dial begins anew.
func TestNoMemory(t *testing.T) {
	const good, refused = 2, 3
	f := newFarm(t, good)
	var count attempts
	for range 3 {
		c, err := f.dial(t.Context(), Dialer{Control: count.control}, refused, good)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if n := count.at(f.addr(refused)); n != 3 {
		t.Errorf("the first address was tried %d times", n)
	}
}

// When a server that was down with all of its addresses is back, none of them is held
// against it: else all its connections would go to the one that answered first.
func TestMemoryAfterAnOutage(t *testing.T) {
	f := newFarm(t, 9)
	m := &Memory{}
	d := Dialer{Memory: m}
	for range 3 {
		_, err := f.dial(t.Context(), d, 2, 3)
		wantError(t, err, StageConnect)
	}
	for _, h := range []int{2, 3} {
		l, err := net.Listen("tcp", f.addr(h))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	for _, hosts := range [][]int{{2, 3}, {3, 2}, {2, 3}} {
		c, err := f.dial(t.Context(), d, hosts...)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.RemoteAddr().String(); got != f.addr(hosts[0]) {
			t.Errorf("of %v it takes %s", hosts, got)
		}
		c.Close()
	}
	if !m.empty() {
		t.Error("something is held against an address")
	}
}

// A preference is no more: the avoided address is tried if the other one fails, and alone.
func TestAvoidIsAPreference(t *testing.T) {
	const good, other, refused = 2, 4, 3
	f := newFarm(t, good)
	l, err := net.Listen("tcp", f.addr(other))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := Avoid(t.Context(), f.addr(good))
	for _, tt := range []struct {
		hosts []int
		want  int
	}{{[]int{good, other}, other}, {[]int{good, refused}, good}, {[]int{good}, good}} {
		c, err := f.dial(ctx, Dialer{}, tt.hosts...)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.RemoteAddr().String(); got != f.addr(tt.want) {
			t.Errorf("of %v it takes %s", tt.hosts, got)
		}
		c.Close()
	}
}
