package bench

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

func TestKill(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // for a port
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.66"), uint16(l.Addr().(*net.TCPAddr).Port))
	revive, err := kill(addr)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := net.DialTimeout("tcp", addr.String(), 50*time.Millisecond); err == nil {
		_ = c.Close()
		t.Error("a dead address answers")
	} else if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
		t.Errorf("a dead address gives %v", err)
	}
	revive()
	if _, err := net.DialTimeout("tcp", addr.String(), time.Minute); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody is there, and a dial gives %v", err)
	}
}
