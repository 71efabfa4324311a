package dialer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// try asks m for the order of addresses, given and returned as one word of letters.
func (m *Memory) try(addrs string, avoid ...string) string {
	got, _ := m.arrange(strings.Split(addrs, ""), avoid)
	return strings.Join(got, "")
}

func wantOrder(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: the order is %s, want %s", what, got, want)
	}
}

func TestMemoryOrder(t *testing.T) {
	tests := []struct{ failed, avoid, in, want string }{
		{"", "", "abc", "abc"},
		{"a", "", "abc", "bca"},
		{"b", "", "abc", "acb"},
		{"ab", "", "abc", "cab"},
		{"abc", "", "abc", "abc"},
		{"abc", "", "cab", "cab"},
		{"x", "", "abc", "abc"},
		{"a", "", "a", "a"},
		{"", "a", "abc", "bca"},
		{"", "abc", "abc", "abc"},
		{"", "x", "abc", "abc"},
		{"", "a", "a", "a"},
		// What doesn't connect is worse than what has just failed otherwise.
		{"b", "a", "abc", "cab"},
		{"b", "a", "ab", "ab"},
		{"a", "b", "abc", "cba"},
		{"ab", "a", "abc", "cba"},
		{"abc", "a", "abc", "bca"},
	}
	for _, tt := range tests {
		m := &Memory{}
		for _, addr := range tt.failed {
			m.failed(string(addr), troubleConnect)
		}
		got := m.try(tt.in, strings.Split(tt.avoid, "")...)
		wantOrder(t, fmt.Sprintf("%+v", tt), got, tt.want)
	}
	var none *Memory
	none.Failed("a")
	none.Worked("a")
	wantOrder(t, "nil", none.try("abc"), "abc")
	wantOrder(t, "nil, avoiding", none.try("abc", "a"), "bca")
}

// wantSpan fails unless the address is tried last for exactly d from now on.
func (m *Memory) wantSpan(t *testing.T, addr string, d time.Duration) {
	t.Helper()
	time.Sleep(d - time.Nanosecond)
	wantOrder(t, fmt.Sprintf("just before %v", d), m.try(addr+"z"), "z"+addr)
	time.Sleep(time.Nanosecond)
	wantOrder(t, fmt.Sprintf("after %v", d), m.try(addr+"z"), addr+"z")
}

func TestMemorySpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Memory{}
		for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 4 * time.Minute} {
			m.failed("a", troubleConnect)
			m.wantSpan(t, "a", want)
		}
		m.worked("a", troubleConnect)
		m.failed("a", troubleConnect)
		m.wantSpan(t, "a", 30*time.Second)
		for _, want := range []time.Duration{5 * time.Second, 10 * time.Second} {
			m.Failed("b")
			m.wantSpan(t, "b", want)
		}
		// A failure much later is a first one again.
		time.Sleep(time.Hour)
		m.Failed("b")
		m.wantSpan(t, "b", 5*time.Second)
	})
}

// Failures while an address is tried last anyway make it neither worse nor better.
func TestMemoryOfABurstOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Memory{}
		for range 1000 {
			m.failed("a", troubleConnect)
		}
		m.wantSpan(t, "a", 30*time.Second)
	})
}

// When the span is over one dial tries it, and the others of the same burst don't.
func TestMemoryLetsOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Memory{}
		m.failed("a", troubleConnect)
		time.Sleep(failedSpan)
		wantOrder(t, "the first", m.try("ab"), "ab")
		for range 10 {
			wantOrder(t, "another", m.try("ab"), "ba")
		}
		time.Sleep(probeSpan) // whoever tried it says nothing
		wantOrder(t, "the next", m.try("ab"), "ab")
		m.failed("a", troubleConnect)
		m.wantSpan(t, "a", 2*failedSpan)
	})
}

// That an address connects doesn't mean that it works.
func TestMemoryForgets(t *testing.T) {
	troubles := []trouble{troubleConnect, troubleOpen, troubleUse}
	for _, what := range troubles {
		for _, upTo := range troubles {
			m := &Memory{}
			m.failed("a", what)
			m.worked("a", upTo)
			want := "ba"
			if upTo >= what {
				want = "ab"
			}
			wantOrder(t, fmt.Sprintf("trouble %d, success %d", what, upTo), m.try("ab"), want)
		}
	}
	m := &Memory{}
	m.failed("a", troubleOpen)
	m.failed("a", troubleConnect)
	m.worked("a", troubleConnect)
	wantOrder(t, "the worse counts", m.try("ab"), "ba")
	m.Worked("a")
	if !m.empty() || len(m.notes) != 0 {
		t.Error("something is left")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Memory{}
		for i := range 3 * maxNotes {
			m.failed(fmt.Sprint(i), troubleConnect)
			time.Sleep(time.Millisecond)
		}
		if len(m.notes) != maxNotes || int(m.n.Load()) != maxNotes {
			t.Errorf("%d notes, counted as %d, want %d", len(m.notes), m.n.Load(), maxNotes)
		}
		for _, i := range []int{2 * maxNotes, 3*maxNotes - 1} { // the youngest remain
			addr := fmt.Sprint(i)
			if got, _ := m.arrange([]string{addr, "z"}, nil); got[0] != "z" {
				t.Errorf("address %d is forgotten", i)
			}
		}
		// The old ones make room together.
		time.Sleep(2 * failedSpan)
		m.failed("new", troubleConnect)
		if len(m.notes) != 1 {
			t.Errorf("%d notes remain", len(m.notes))
		}
	})
}

func TestMemoryAtOnce(t *testing.T) {
	m := &Memory{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				addr := string(rune('a' + (i+j)%5))
				m.failed(addr, troubleConnect)
				if got := m.try("abcde"); len(got) != 5 || !sameLetters(got, "abcde") {
					t.Errorf("of abcde it makes %s", got)
				}
				m.Worked(addr)
			}
		})
	}
	wg.Wait()
	for _, addr := range "abcde" {
		m.Worked(string(addr))
	}
	if !m.empty() {
		t.Errorf("%d notes are left", m.n.Load())
	}
}

func sameLetters(a, b string) bool {
	x, y := strings.Split(a, ""), strings.Split(b, "")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func TestWhichTriesTell(t *testing.T) {
	const turn = 250 * time.Millisecond
	op := func(err error) error { return &net.OpError{Op: "dial", Err: err} }
	sys := func(errno syscall.Errno) error { return op(os.NewSyscallError("connect", errno)) }
	tests := []struct {
		err  error
		took time.Duration
		won  bool // another one has
		want bool
	}{
		{sys(syscall.ECONNREFUSED), 0, false, true},
		{sys(syscall.ECONNRESET), 0, false, true},
		{sys(syscall.EHOSTUNREACH), time.Second, false, true},
		{sys(syscall.ETIMEDOUT), 0, false, true}, // the kernel's own, whatever the clock says
		{errors.New("a Control function's"), 0, false, true},
		{sys(syscall.ENETUNREACH), 0, false, false},
		{sys(syscall.EADDRNOTAVAIL), 0, false, false},
		{op(syscall.EMFILE), 0, false, false},
		{op(context.Canceled), turn - 1, true, false}, // the other was quicker
		{op(context.Canceled), turn, true, true},
		{op(context.Canceled), time.Hour, false, false}, // the caller has gone
		{op(context.DeadlineExceeded), turn - 1, false, false},
		{op(context.DeadlineExceeded), turn, false, true},
	}
	for _, tt := range tests {
		if got := (&Try{Err: tt.err, Took: tt.took}).tells(turn, tt.won); got != tt.want {
			t.Errorf("%v after %v, another won %t: %t, want %t", tt.err, tt.took, tt.won, got, tt.want)
		}
	}
}

func TestAvoid(t *testing.T) {
	ctx := t.Context()
	if Avoided(ctx) != nil || Avoid(ctx, "") != ctx {
		t.Error("something is avoided from the start")
	}
	a := Avoid(ctx, "a")
	b, c := Avoid(a, "b"), Avoid(a, "c")
	for i, tt := range []struct {
		ctx  context.Context
		want []string
	}{{a, []string{"a"}}, {b, []string{"a", "b"}}, {c, []string{"a", "c"}}, {Avoid(b, "a"), []string{"a", "b"}}} {
		if got := Avoided(tt.ctx); !slices.Equal(got, tt.want) {
			t.Errorf("%d: %v is avoided, want %v", i, got, tt.want)
		}
	}
	for i := range 100 {
		ctx = Avoid(ctx, fmt.Sprint(i))
	}
	if got := Avoided(ctx); len(got) != maxAvoided || got[maxAvoided-1] != "99" {
		t.Errorf("of 100 it avoids %v", got)
	}
}
