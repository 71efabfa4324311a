package health

import (
	"net"
	"runtime"
	"testing"
	"time"
)

func TestRTT(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rtt, ok := RTT(c)
	if linux := runtime.GOOS == "linux"; ok != linux || linux && (rtt <= 0 || rtt > time.Second) {
		t.Errorf("%v, %v over loopback", rtt, ok)
	}
	c.Close()
	if rtt, ok := RTT(c); ok {
		t.Errorf("%v of a closed connection", rtt)
	}
	mine, peer := net.Pipe()
	defer mine.Close()
	defer peer.Close()
	if rtt, ok := RTT(mine); ok {
		t.Errorf("%v of what is no socket", rtt)
	}
}
