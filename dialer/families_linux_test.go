package dialer

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Both families: whichever is first and dead, the other one takes over after its delay, and
// from then on at once.
func TestRaceOfFamilies(t *testing.T) {
	f := newFarm(t, 2)
	six := net.JoinHostPort("::1", f.port)
	const dead = 11
	f.kill(t, dead)
	kill6(t, f.port)
	var count attempts
	d := Dialer{Memory: &Memory{}, Control: count.control, ConnectTimeout: 2 * time.Second}
	for _, ips := range [][]string{
		{"::1", "127.0.0.2"},
		{"::1", "127.0.0.11", "127.0.0.2"},
		{"127.0.0.11", "::1", "127.0.0.2"},
	} {
		d.Memory = &Memory{}
		d.Resolver = names{"farm.test": ips}
		for i, most := range []time.Duration{900 * time.Millisecond, 200 * time.Millisecond} {
			start := time.Now()
			c, err := d.DialContext(t.Context(), "tcp", "farm.test:"+f.port)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			least := time.Duration(0)
			if i == 0 {
				least = time.Duration(len(ips)-1) * defaultFallbackDelay
			}
			if took := time.Since(start); took < least || took > most {
				t.Errorf("%v: dial %d took %v, want %v to %v", ips, i, took, least, most)
			}
		}
	}
	if n := count.at(six); n != 3 {
		t.Errorf("%s was tried %d times in 3 rounds", six, n)
	}
}

// kill6 makes ::1 swallow connections.
func kill6(t *testing.T, port string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip("no IPv6: ", err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	n, _ := net.LookupPort("tcp", port)
	if err := syscall.Bind(fd, &syscall.SockaddrInet6{Port: n, Addr: [16]byte{15: 1}}); errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Skip("no IPv6: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	fill(t, net.JoinHostPort("::1", port))
}

// Descriptors or ports that have run out are nobody's fault but this host's, and there is no
// second attempt that would need another one.
func TestOwnFaults(t *testing.T) {
	const good = 2
	f := newFarm(t, good)
	for errno, most := range map[syscall.Errno]int{
		syscall.EADDRNOTAVAIL: 3, // package net tries twice more, as the kernel may say so without need
		syscall.EMFILE:        1,
		syscall.ENFILE:        1,
	} {
		calls := 0
		d := Dialer{Memory: &Memory{}, Control: func(string, string, syscall.RawConn) error { calls++; return errno }}
		_, err := f.dial(t.Context(), d, good)
		e := wantError(t, err, StageConnect)
		if !errors.Is(err, errno) || e.Timeout() || len(e.Tries) != 1 || calls > most {
			t.Errorf("%v: error %v with %+v after %d calls", errno, err, e.Tries, calls)
		}
		if !d.Memory.empty() {
			t.Errorf("%v is held against the address", errno)
		}
	}
	// With two addresses, one each.
	var mu sync.Mutex
	var tried []string
	d := Dialer{Memory: &Memory{}, Control: func(_, addr string, _ syscall.RawConn) error {
		mu.Lock()
		defer mu.Unlock()
		tried = append(tried, addr)
		return syscall.EMFILE
	}}
	_, err := f.dial(t.Context(), d, good, 3)
	wantError(t, err, StageConnect)
	if !slices.Equal(tried, []string{f.addr(good), f.addr(3)}) {
		t.Errorf("tried were %v", tried)
	}
}
