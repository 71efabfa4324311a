package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// upgrader is an upstream that echoes lines after an upgrade.
func upgrader(t *testing.T) string {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "echo" || r.Header.Get("Connection") != "Upgrade" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, rw)
	})
	return up.URL
}

// upgrade opens an upgraded connection through the sidecar.
func (r *rig) upgrade() (net.Conn, *bufio.Reader) {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(c, "GET /chat HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: echo\r\n\r\n")
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "echo" {
		r.t.Fatalf("answer %s, %v", resp.Status, resp.Header)
	}
	return c, br
}

// TestUpgrade talks over an upgraded connection, which a drain waits for.
func TestUpgrade(t *testing.T) {
	r := start(t, "upstream="+upgrader(t), "log.requests=true")
	c, br := r.upgrade()
	for i := range 3 {
		if i == 2 {
			r.end()
			r.log.wait(t, "draining")
		}
		fmt.Fprintln(c, i)
		if line, err := br.ReadString('\n'); line != fmt.Sprintln(i) {
			t.Fatalf("echo %q, error %v", line, err)
		}
	}
	_ = c.(*net.TCPConn).CloseWrite()
	if _, err := br.ReadByte(); err != io.EOF {
		t.Errorf("at its end: %v", err)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if !strings.Contains(r.log.String(), "path=/chat proto=HTTP/1.1 status=101") {
		t.Error("the log has no line for it")
	}
}

// TestUpgradeIsCut at the end of a drain.
func TestUpgradeIsCut(t *testing.T) {
	r := start(t, "upstream="+upgrader(t), "drain=30ms")
	_, br := r.upgrade()
	if err, ok := r.stop().(*CutError); !ok || err.Requests != 1 {
		t.Errorf("Run: %v", err)
	}
	if _, err := br.ReadByte(); err == nil {
		t.Error("the connection is open")
	}
}
