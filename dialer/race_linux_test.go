package dialer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// A farm is a port with hosts behind it: 127.0.0.N answers, is dead, or refuses.
type farm struct{ port string }

// newFarm returns a farm in which host answers.
func newFarm(t *testing.T, host int) *farm {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &farm{port: portOf(t, l.Addr().String())}
}

// kill makes a host swallow connections, as one behind a broken firewall does: a socket
// whose backlog is full gets SYNs and answers none.
func (f *farm) kill(t *testing.T, hosts ...int) {
	t.Helper()
	for _, host := range hosts {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Close(fd) })
		var port int
		fmt.Sscan(f.port, &port)
		if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, byte(host)}}); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Listen(fd, 0); err != nil {
			t.Fatal(err)
		}
		fill(t, f.addr(host))
	}
}

// fill fills the backlog of a listener that doesn't accept.
func fill(t *testing.T, addr string) {
	t.Helper()
	for range 8 {
		c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			return
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the backlog doesn't fill up")
}

func (f *farm) addr(host int) string { return fmt.Sprintf("127.0.0.%d:%s", host, f.port) }

// dial dials a name with these hosts as its addresses.
func (f *farm) dial(ctx context.Context, d Dialer, hosts ...int) (net.Conn, error) {
	var ips []string
	for _, h := range hosts {
		ips = append(ips, fmt.Sprintf("127.0.0.%d", h))
	}
	d.Resolver = names{"farm.test": ips}
	return d.DialContext(ctx, "tcp", "farm.test:"+f.port)
}

func openFiles(t testing.TB) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestRaceOfAddresses(t *testing.T) {
	const good, refused = 2, 3
	f := newFarm(t, good)
	dead := []int{11, 12, 13, 14, 15, 16, 17, 18}
	f.kill(t, dead...)
	quick, slow := Dialer{ConnectTimeout: 2 * time.Second}, Dialer{FallbackDelay: 3 * time.Second}
	tests := []struct {
		name     string
		hosts    []int
		d        Dialer
		min, max time.Duration
	}{
		// The delay shows that the next address didn't wait for it.
		{"good", []int{good}, slow, 0, time.Second},
		{"good first", []int{good, dead[0]}, slow, 0, time.Second},
		{"refused first", []int{refused, good}, slow, 0, time.Second},
		{"dead first", []int{dead[0], good}, quick, 250 * time.Millisecond, time.Second},
		{"refused and dead first", []int{refused, dead[0], good}, quick, 250 * time.Millisecond, time.Second},
		{"eight dead first", append(append([]int{}, dead...), good), quick, time.Second, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fds := openFiles(t)
			start := time.Now()
			c, err := f.dial(t.Context(), tt.d, tt.hosts...)
			took := time.Since(start)
			if err != nil {
				t.Fatal(err)
			}
			if took < tt.min || took > tt.max {
				t.Errorf("it took %v, want %v to %v", took, tt.min, tt.max)
			}
			if got := c.RemoteAddr().String(); got != f.addr(good) {
				t.Errorf("connected to %s", got)
			}
			c.Close()
			if got := openFiles(t); got > fds {
				t.Errorf("%d sockets are left", got-fds)
			}
		})
	}
}

func TestRaceThatNobodyWins(t *testing.T) {
	const good, refused, other = 2, 3, 4
	f := newFarm(t, good)
	dead := []int{11, 12}
	f.kill(t, dead...)
	d := Dialer{ConnectTimeout: 700 * time.Millisecond}
	fds := openFiles(t)

	t.Run("refused", func(t *testing.T) {
		start := time.Now()
		_, err := f.dial(t.Context(), Dialer{FallbackDelay: 5 * time.Second}, refused, other)
		wantSoon(t, "refusals", start, time.Now(), 2*time.Second)
		e := wantError(t, err, StageConnect)
		if !errors.Is(err, syscall.ECONNREFUSED) || e.Timeout() || len(e.Tries) != 2 {
			t.Errorf("error is %v with %+v", err, e.Tries)
		}
		for i, h := range []int{refused, other} {
			if try := e.Tries[i]; try.Addr != f.addr(h) || !errors.Is(try.Err, syscall.ECONNREFUSED) || try.Took <= 0 {
				t.Errorf("try %d is %+v", i, try)
			}
		}
	})
	t.Run("limit", func(t *testing.T) {
		start := time.Now()
		_, err := f.dial(t.Context(), d, dead...)
		took := time.Since(start)
		if took < 700*time.Millisecond || took > 1500*time.Millisecond {
			t.Errorf("the limit of 700 ms ended it after %v", took)
		}
		e := wantError(t, err, StageConnect)
		if !e.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) || len(e.Tries) != 2 {
			t.Errorf("error is %v with %+v", err, e.Tries)
		}
	})
	t.Run("limit with one address", func(t *testing.T) {
		_, err := f.dial(t.Context(), d, dead[0])
		e := wantError(t, err, StageConnect)
		if !e.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := f.dial(ctx, d, dead...)
		e := wantError(t, err, StageConnect)
		if !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
		start := time.Now()
		_, err := f.dial(ctx, d, dead...)
		wantSoon(t, "the cancellation", start, time.Now(), 600*time.Millisecond)
		e := wantError(t, err, StageConnect)
		if e.Timeout() || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("error is %v", err)
		}
	})
	if got := openFiles(t); got > fds {
		t.Errorf("%d sockets are left", got-fds)
	}
}

// Two that answer: the second is closed, whichever it is.
func TestRaceClosesTheSecond(t *testing.T) {
	f := newFarm(t, 2)
	l, err := net.Listen("tcp", f.addr(3))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fds := openFiles(t)
	for range 50 {
		// Both start at nearly the same time.
		c, err := f.dial(t.Context(), Dialer{FallbackDelay: time.Nanosecond}, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if got := openFiles(t); got > fds {
		t.Errorf("%d sockets are left", got-fds)
	}
}
