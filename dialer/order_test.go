package dialer

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOrder(t *testing.T) {
	tests := []struct{ in, network, want string }{
		{"", "tcp", ""},
		{"1.1.1.1", "tcp", "1.1.1.1"},
		{"1.1.1.1 1.1.1.2 ::1 ::2", "tcp", "1.1.1.1 ::1 1.1.1.2 ::2"},
		{"::1 ::2 1.1.1.1 1.1.1.2", "tcp", "::1 1.1.1.1 ::2 1.1.1.2"},
		{"::1 ::2 ::3 1.1.1.1", "tcp", "::1 1.1.1.1 ::2 ::3"},
		{"1.1.1.1 ::1 ::2 ::3", "tcp", "1.1.1.1 ::1 ::2 ::3"},
		{"1.1.1.1 1.1.1.1 1.1.1.2 1.1.1.1", "tcp", "1.1.1.1 1.1.1.2"},
		{"1.1.1.1 ::1 1.1.1.2", "tcp4", "1.1.1.1 1.1.1.2"},
		{"1.1.1.1 ::1 1.1.1.2", "tcp6", "::1"},
		{"1.1.1.1", "tcp6", ""},
		{"fe80::1%eth0 fe80::1%eth1", "tcp", "fe80::1%eth0 fe80::1%eth1"},
	}
	for _, tt := range tests {
		var got []string
		for _, ip := range order(parseAddrs(strings.Fields(tt.in)), tt.network) {
			got = append(got, ip.String())
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("order(%s, %s) = %s, want %s", tt.in, tt.network, s, tt.want)
		}
	}
}

func TestOrderBoundsTheAddresses(t *testing.T) {
	var ips []netip.Addr
	for i := range 1000 {
		ips = append(ips, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
	}
	if got := order(ips, "tcp"); !slices.Equal(got, ips[:maxAddrs]) {
		t.Errorf("%d addresses are left, want the first %d", len(got), maxAddrs)
	}
}

func TestStagger(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		delay time.Duration
		n     int
		left  time.Duration
		want  time.Duration
	}{
		{0, 2, 0, 250 * ms},
		{0, 2, 10 * time.Second, 250 * ms},
		{-1, 2, 10 * time.Second, 250 * ms},
		{100 * ms, 2, 10 * time.Second, 100 * ms},
		{0, 9, 2 * time.Second, 125 * ms}, // the ninth starts after 1 s
		{0, 2, 400 * ms, 200 * ms},
		{0, 64, 200 * ms, minStagger},
		{0, 1, time.Second, 250 * ms},
	}
	for _, tt := range tests {
		if got := stagger(tt.delay, tt.n, tt.left); got != tt.want {
			t.Errorf("stagger(%v, %d, %v) = %v, want %v", tt.delay, tt.n, tt.left, got, tt.want)
		}
	}
}

func TestMainError(t *testing.T) {
	wrap := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Err: fmt.Errorf("connect: %w", errno)}
	}
	noRoute, noAddr, refused, reset := wrap(syscall.ENETUNREACH), wrap(syscall.EADDRNOTAVAIL), wrap(syscall.ECONNREFUSED), wrap(syscall.ECONNRESET)
	tests := []struct {
		errs []error
		want error
	}{
		{[]error{refused}, refused},
		{[]error{refused, reset}, refused},
		{[]error{noRoute, refused}, refused},
		{[]error{refused, noRoute}, refused},
		{[]error{noAddr, noRoute, reset}, reset},
		{[]error{noRoute, noAddr}, noRoute},
	}
	for _, tt := range tests {
		var tries []Try
		for _, err := range tt.errs {
			tries = append(tries, Try{Err: err})
		}
		if got := mainError(tries); got != tt.want {
			t.Errorf("of %v it picks %v", tt.errs, got)
		}
	}
	if mainError(nil) == nil {
		t.Error("no tries are no success")
	}
}
