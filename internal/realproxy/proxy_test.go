//go:build proxies && unix

package realproxy

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
)

// wantInstalled skips the test where one of the kind's programs is missing or, with CI=true, fails.
func wantInstalled(t *testing.T, k frontproxy.Kind) {
	t.Helper()
	err := k.Installed()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("CI=true, and %v", err)
	default:
		t.Skip(err)
	}
}

// startProxy starts a proxy that ends with the test.
func startProxy(t *testing.T, k frontproxy.Kind, s frontproxy.Settings) *frontproxy.Proxy {
	t.Helper()
	wantInstalled(t, k)
	p, err := frontproxy.Start(k, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// startRelay starts a relay that ends with the test.
func startRelay(t *testing.T, to string, delay time.Duration) *frontproxy.Relay {
	t.Helper()
	r, err := frontproxy.StartRelay(to, delay)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestAProcessThatEndsIsNotWaitedFor(t *testing.T) {
	wantInstalled(t, frontproxy.Nginx)
	path, _ := frontproxy.Look("nginx")
	p, err := frontproxy.StartProcess(path, "-c", "/nonexistent/nginx.conf", "-e", "stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if err := p.Await("start worker process", 1, frontproxy.StartTime); err == nil {
		t.Error("a proxy without a configuration is said to have started")
	}
	if err := p.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to the ended process: %v, want ErrProcessDone", err)
	}
}
