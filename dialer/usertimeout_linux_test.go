package dialer

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socketOption reads an option of the socket below c.
func socketOption(t testing.TB, c net.Conn, level, name int) (v int) {
	t.Helper()
	for {
		u, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = u.NetConn()
	}
	rc, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	cerr := rc.Control(func(fd uintptr) { v, err = unix.GetsockoptInt(int(fd), level, name) })
	if err = errors.Join(err, cerr); err != nil {
		t.Fatal(err)
	}
	return v
}

// Every socket has its probes and its limit, whatever way it leads.
func TestSocketsToldToNoticeSilence(t *testing.T) {
	origin := newPeer(t, echo)
	secure := newPeer(t, withTLS(serverTLS(t), echo))
	socks := newPeer(t, (&socksServer{origin: origin.addr, asked: make(chan string, 1)}).serve)
	secureProxy := newPeer(t, withTLS(serverTLS(t), httpProxy(make(chan *http.Request, 1))))
	tunnel := newPeer(t, httpProxy(make(chan *http.Request, 2)))
	for name, r := range map[string]Route{
		"direct":         {Addr: origin.addr},
		"by name":        {Addr: "two.test:" + portOf(t, origin.addr)},
		"TLS":            {Addr: secure.addr, TLS: clientTLS(t)},
		"SOCKS5":         {Addr: origin.addr, Proxy: &url.URL{Scheme: "socks5", Host: socks.addr}},
		"CONNECT":        {Addr: origin.addr, Proxy: proxyURL(t, "http://"+tunnel.addr)},
		"CONNECT by TLS": {Addr: secure.addr, TLS: clientTLS(t), Proxy: proxyURL(t, "https://"+secureProxy.addr)},
		"forward":        {Addr: origin.addr, Proxy: proxyURL(t, "http://"+origin.addr), Forward: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Dialer{Resolver: names{"two.test": {"127.0.0.1", "::1"}}}
			l, err := d.Dial(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Conn.Close()
			if socketOption(t, l.Conn, unix.SOL_SOCKET, unix.SO_KEEPALIVE) != 1 {
				t.Error("no keep-alive probes")
			}
			if got := socketOption(t, l.Conn, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); got != 120_000 {
				t.Errorf("TCP_USER_TIMEOUT is %d ms", got)
			}
		})
	}
}

func TestUserTimeoutSettings(t *testing.T) {
	p := newPeer(t, echo)
	byControl := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 777) })
	}
	for _, tt := range []struct {
		name string
		d    Dialer
		want int
	}{
		{"a value", Dialer{UserTimeout: 1500 * time.Microsecond}, 2},
		{"off", Dialer{UserTimeout: -1}, 0},
		{"Control's", Dialer{Control: byControl}, 777},
		{"a value and Control's", Dialer{Control: byControl, UserTimeout: time.Second}, 1000},
	} {
		c, err := tt.d.DialContext(t.Context(), "tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := socketOption(t, c, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); got != tt.want {
			t.Errorf("%s: TCP_USER_TIMEOUT is %d ms, want %d", tt.name, got, tt.want)
		}
	}
}

// swallow has the kernel drop all that arrives for c from now on, so that it acknowledges
// nothing and sends no RST: what a firewall does that has forgotten a connection.
func swallow(t testing.TB, c net.Conn) {
	t.Helper()
	rc, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	nothing := [1]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	prog := unix.SockFprog{Len: 1, Filter: (*unix.SockFilter)(unsafe.Pointer(&nothing))}
	cerr := rc.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog)
	})
	runtime.KeepAlive(&nothing)
	if err = errors.Join(err, cerr); err != nil {
		t.Skipf("no filter can be attached: %v", err)
	}
}

// silentDrop returns a connection whose packets have begun to vanish.
func silentDrop(t *testing.T, d *Dialer) net.Conn {
	t.Helper()
	gone := make(chan struct{})
	dropped := make(chan struct{})
	p := newPeer(t, func(c net.Conn) {
		swallow(t, c)
		close(dropped)
		<-gone
	})
	t.Cleanup(func() { close(gone) })
	c, err := d.DialContext(t.Context(), "tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	wantEvent(t, "the filter", dropped)
	c.SetReadDeadline(time.Now().Add(patience))
	return c
}

func TestSilentDropEnds(t *testing.T) {
	probes := net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 9}
	for _, tt := range []struct {
		name  string
		d     Dialer
		write bool
	}{
		{"bytes under way", Dialer{UserTimeout: time.Second}, true},
		{"idle", Dialer{UserTimeout: time.Second, KeepAlive: probes}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := silentDrop(t, &tt.d)
			start := time.Now()
			if tt.write {
				if _, err := c.Write([]byte("request")); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.Read(make([]byte, 1))
			if !errors.Is(err, syscall.ETIMEDOUT) {
				t.Fatalf("after %v Read fails with %v, want ETIMEDOUT", time.Since(start), err)
			}
			t.Logf("over after %v", time.Since(start))
			if took := time.Since(start); took < 900*time.Millisecond || took > 6*time.Second {
				t.Errorf("over after %v", took)
			}
		})
	}
}
