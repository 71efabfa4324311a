//go:build sidecar && linux

package sidecartest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
	"example.com/connwise/internal/texttable"
)

// files are the certificates of one test, for programs that read them.
type files struct {
	dir, ca, cert, key string
	authority          *peer.Authority
}

func newFiles(t *testing.T) files {
	t.Helper()
	a, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := frontproxy.PEM(a.Certificate())
	if err != nil {
		t.Fatal(err)
	}
	f := files{dir: t.TempDir(), authority: a}
	f.ca = f.write(t, "ca.pem", a.PEM())
	f.cert = f.write(t, "cert.pem", cert)
	f.key = f.write(t, "key.pem", key)
	return f
}

// write writes one file more, and returns its path.
func (f files) write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var listening = regexp.MustCompile(`msg=listening clients=(\S+)`)

// startSidecar starts one before a server with the files' certificate, and returns its URL.
func startSidecar(t *testing.T, f files, upstream string) (*frontproxy.Process, string) {
	t.Helper()
	p, match := start(t, listening, connwise, "proxy", "--upstream", upstream, "--tls-ca-file", f.ca,
		"--listen", "127.0.0.1:0")
	return p, match[1]
}

// pause waits for d, and tells whether stop was not closed meanwhile.
func pause(d time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}

// timeOf is how long a part of the test takes: in seconds, as wrk knows no others.
func timeOf(t *testing.T, name string, or time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return or
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		t.Fatalf("%s=%s: want a duration of at least 1s", name, text)
	}
	return d.Truncate(time.Second)
}

// logTable logs a table whose first left columns are text.
func logTable(t *testing.T, header []string, rows [][]string, left int) {
	t.Helper()
	var b strings.Builder
	if err := texttable.Write(&b, header, rows, left); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}
