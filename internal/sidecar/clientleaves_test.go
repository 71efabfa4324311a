package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"example.com/connwise/internal/peer"
)

// TestClientLeaves closes the client's connection in mid-upload: the upstream never has a whole
// request, and nothing is left of it.
func TestClientLeaves(t *testing.T) {
	for _, tt := range []struct{ name, head, log string }{
		{"a body that is kept", "Content-Length: 1000", "client left"},
		{"a body that streams", "Content-Length: 1000000", "client left"},
		{"chunks", "Transfer-Encoding: chunked", "client left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, up := newPeer(t, peer.Faults{})
			r := start(t, up)
			c, err := net.Dial("tcp", r.addr.String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\n%s\r\n%s: 1\r\n\r\n5\r\nhello\r\n", tt.head, peer.HeaderID)
			c.Close()
			r.log.wait(t, tt.log)
			if err := r.p.idle(t.Context()); err != nil {
				t.Error(err)
			}
			if n := r.p.replay.used.Load(); n != 0 {
				t.Errorf("%d bytes of replay memory are taken", n)
			}
			s.Close()
			if n := s.Report().Executed.Count(1); n != 0 {
				t.Errorf("executed %d times", n)
			}
		})
	}
}

// TestClientLeavesWhileItWaits ends the request to the upstream too.
func TestClientLeavesWhileItWaits(t *testing.T) {
	began, gone := make(chan struct{}), make(chan struct{})
	up := origin(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // its end has the server watch the connection
		close(began)
		<-r.Context().Done()
		close(gone)
	})
	r := start(t, "upstream="+up.URL)
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
	<-began
	c.Close()
	<-gone
	r.log.wait(t, "client left")
}

// TestBadRequests are answered with 400 and reach nobody.
func TestBadRequests(t *testing.T) {
	s, up := newPeer(t, peer.Faults{})
	r := start(t, up)
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	wantAnswer(t, resp, string(b), answer{400, true, "request", 0})
	if n := s.Count().Accepted; n != 0 {
		t.Errorf("the upstream has %d connections", n)
	}
	resp, _ = r.do("CONNECT", "/", nil)
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("CONNECT: %s", resp.Status)
	}
}
