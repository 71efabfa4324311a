package sidecar

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSocketsOnBothSides goes by a path instead of ports. What a killed process has left is replaced;
// what is in use isn't.
func TestSocketsOnBothSides(t *testing.T) {
	dir, err := os.MkdirTemp("", "cw") // t.TempDir's may be longer than a socket's path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	upPath, path := filepath.Join(dir, "up"), filepath.Join(dir, "in")
	l, err := net.Listen("unix", upPath)
	if err != nil {
		t.Fatal(err)
	}
	up := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "host=%s for=%q", r.Host, r.Header["X-Forwarded-For"])
	})}
	go up.Serve(l)
	defer up.Close()
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	left.Close()

	r := start(t, "upstream=unix:"+upPath, "listen=unix:"+path, "socket_mode=0620")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o620 {
		t.Errorf("the socket's mode: %v, %v", info.Mode(), err)
	}
	if _, err := listen("unix:"+path, 0o600); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second listener: %v", err)
	}
	client := newClient(t)
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x/", strings.NewReader("b"))
	req.Header.Set("X-Forwarded-For", "192.0.2.1")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if want := `host=localhost for=["192.0.2.1"]`; string(b) != want {
		t.Errorf("the upstream got %s, want %s", b, want)
	}
	up.Close()
	resp, err = client.Post("http://x/", "", strings.NewReader("b"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ = io.ReadAll(resp.Body)
	resp.Body.Close()
	wantAnswer(t, resp, string(b), answer{503, true, "dial", 2})
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}
