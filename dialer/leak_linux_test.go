package dialer

import (
	"crypto/tls"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clientSockets counts this process's sockets that are connected to the first stop of r.
// The peers of these tests are in the process too, but their ends have other ports.
func clientSockets(t *testing.T, r Route) (n int) {
	t.Helper()
	addr := r.Addr
	if r.Proxy != nil {
		addr = r.Proxy.Host
	}
	port, err := strconv.Atoi(portOf(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sa, err := syscall.Getpeername(fd)
		if in4, ok := sa.(*syscall.SockaddrInet4); err == nil && ok && in4.Port == port {
			n++
		}
	}
	return n
}

// The count has to see a socket that is there.
func TestClientSockets(t *testing.T) {
	p := newPeer(t, echo)
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	if n := clientSockets(t, Route{Addr: p.addr}); n != 1 {
		t.Errorf("%d sockets are counted, want 1", n)
	}
	c.Close()
	if n := clientSockets(t, Route{Addr: p.addr}); n != 0 {
		t.Errorf("%d sockets are counted, want 0", n)
	}
}

// However a dial fails, its socket is closed.
func TestFailuresLeaveNoSocket(t *testing.T) {
	socks := &socksServer{reply: 5, asked: make(chan string, 1000)}
	hangUp := func(c net.Conn) { c.Close() }
	mute := newPeer(t, func(c net.Conn) { c.Read(make([]byte, 1<<20)) })
	tests := map[string]Route{
		"SOCKS5 refusal":  {Addr: "origin.test:80", Proxy: proxyURL(t, "socks5://"+newPeer(t, socks.serve).addr)},
		"CONNECT refusal": {Addr: "origin.test:80", Proxy: proxyURL(t, "http://"+newPeer(t, answering("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")).addr)},
		"proxy hangs up":  {Addr: "origin.test:80", Proxy: proxyURL(t, "http://"+newPeer(t, hangUp).addr)},
		"server hangs up": {Addr: newPeer(t, hangUp).addr, TLS: clientTLS(t)},
		// A socket that was reset has no peer any more, so that it isn't counted; these two aren't.
		"untrusted server": {Addr: newPeer(t, withTLS(serverTLS(t), echo)).addr, TLS: &tls.Config{}},
		"silent server":    {Addr: mute.addr, TLS: clientTLS(t)},
		"silent proxy":     {Addr: "origin.test:80", Proxy: proxyURL(t, "socks5://"+mute.addr)},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			d := &Dialer{}
			if strings.HasPrefix(name, "silent") {
				d.TLSTimeout, d.ProxyTimeout = 5*time.Millisecond, 5*time.Millisecond
			}
			before := clientSockets(t, r)
			for range 100 {
				if _, err := d.Dial(t.Context(), r); err == nil {
					t.Fatal("the dial succeeds")
				}
			}
			// Where a limit ends a dial the last socket may be about to be closed: crypto/tls doesn't
			// wait for the goroutine that it leaves that to.
			got, end := clientSockets(t, r), time.Now().Add(patience)
			for ; got == before+1 && time.Now().Before(end); got = clientSockets(t, r) {
				runtime.Gosched()
			}
			if got > before {
				t.Errorf("%d sockets are left", got-before)
			}
		})
	}
}
