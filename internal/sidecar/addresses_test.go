package sidecar

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdminKnowsItsName checks that a page of the Web, whose name has been made to mean this machine (DNS
// rebinding), can't read statistics and settings.
func TestAdminKnowsItsName(t *testing.T) {
	for _, tt := range []struct {
		host, anywhere string
		status         int
	}{
		{"", "false", 200}, {"localhost:1", "false", 200}, {"[::1]", "false", 200},
		{"attacker.example", "false", 421}, {"attacker.example:9090", "false", 421}, {"metrics.example", "true", 200},
	} {
		r := start(t, "upstream=http://127.0.0.1:1", "admin=127.0.0.1:0", "listen_anywhere="+tt.anywhere)
		for _, path := range []string{"/", "/-/config"} {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", r.admin+path, nil)
			req.Host = tt.host
			resp, err := newClient(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("%s at %q, anywhere %s: %s, want %d", path, tt.host, tt.anywhere, resp.Status, tt.status)
			}
		}
	}
}

// TestReloadTellsWhatIsInForce checks that a setting that only a restart changes isn't shown as changed.
func TestReloadTellsWhatIsInForce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxy.yml")
	write := func(drain, via string) {
		text := "upstream: http://127.0.0.1:1\nlisten: 127.0.0.1:0\ndrain: " + drain + "\nforward:\n  via: " + via + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("7s", "one")
	r := startFrom(t, Source{File: file})
	write("9s", "two")
	if err := r.reload(); err != nil {
		t.Fatal(err)
	}
	if text := r.p.Settings().YAML(); !strings.Contains(text, "drain: 7s\n") || !strings.Contains(text, "via: two\n") {
		t.Errorf("the settings in force are said to be\n%s", text)
	}
	r.log.wait(t, "setting is in force after a restart only")
}

// TestNoLoop refuses an upstream that is the sidecar itself, however it is written.
func TestNoLoop(t *testing.T) {
	for _, tt := range []struct {
		upstream, listen string
		ok               bool
	}{
		{"http://127.0.0.1:8080", "127.0.0.1:8080", false},
		{"http://localhost:8080/x", "127.0.0.1:8080", false},
		{"http://127.0.0.1:8080", "localhost:8080", false},
		{"http://[::1]:8080", "localhost:8080", false},
		{"http://localhost", "127.0.0.1:80", false},
		{"http://127.0.0.3:8080", "0.0.0.0:8080", false},
		{"http://127.0.0.1:8080", ":8080", false},
		{"unix:/run/a.sock", "unix:/run/a.sock", false},
		{"http://127.0.0.2:8080", "127.0.0.1:8080", true},
		{"http://localhost:8081", "127.0.0.1:8080", true},
		{"https://localhost:8080", "127.0.0.1:8080", true}, // it speaks no TLS
		{"http://example:8080", "0.0.0.0:8080", true},
	} {
		_, err := Load(Source{Flags: []Flag{{"upstream", tt.upstream}, {"listen", tt.listen}, {"listen_anywhere", "true"}}})
		if (err == nil) != tt.ok {
			t.Errorf("upstream %s, listen %s: %v", tt.upstream, tt.listen, err)
		}
	}
}
