package sidecar

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/connwise/internal/peer"
)

// TestUpstreamWithTLS goes by HTTP/2 to an upstream whose authority a file names. A reload reads the file
// again: another authority under the same name makes another pool.
func TestUpstreamWithTLS(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	dir := t.TempDir()
	ca, file := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "proxy.yml")
	right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.Certificate().Raw})
	other, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	settingsFile(t, ca, string(right))
	settingsFile(t, file, "upstream: "+up.URL+"\ntls:\n  ca_file: "+ca+"\nretry:\n  policy: off\n")
	r := startFrom(t, Source{File: file, Flags: flagsOf(nil)})
	if _, body := r.do("GET", "/", nil); body != "HTTP/2.0" {
		t.Errorf("the upstream was spoken to in %q", body)
	}
	first := r.p.current.Load().up
	settingsFile(t, ca, string(other.PEM()))
	if err := r.reload(); err != nil {
		t.Fatal(err)
	}
	<-first.gone
	resp, body := r.do("POST", "/", strings.NewReader("x"))
	wantAnswer(t, resp, body, answer{503, true, "dial", 0})
	if err := os.Remove(ca); err != nil {
		t.Fatal(err)
	}
	if err := r.reload(); err == nil || !strings.Contains(err.Error(), file+":3: tls.ca_file: open ") {
		t.Errorf("a reload without the file: %v", err)
	}
}
