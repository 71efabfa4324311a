//go:build sidecar && linux

package sidecartest

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"example.com/connwise/internal/frontproxy"
)

// look returns the first of the programs that is there, and for which works, if not nil, is true.
// Without one the test is skipped or, with CI=true, fails.
func look(t *testing.T, works func(path string) bool, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil && (works == nil || works(path)) {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v: not installed, or without its libraries, and CI=true", names)
	}
	t.Skipf("%v: not installed, or without its libraries", names)
	return ""
}

// start starts a server, and ends it with the test. It waits until the server has said what
// running matches, and returns the match.
func start(t *testing.T, running *regexp.Regexp, path string, args ...string) (*frontproxy.Process, []string) {
	t.Helper()
	p, err := frontproxy.StartProcess(path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p) })
	match, err := p.AwaitMatch(running, frontproxy.StartTime)
	if err != nil {
		t.Fatal(err)
	}
	return p, match
}

// stop ends a server in an orderly way, and asks that it ends so.
func stop(t *testing.T, p *frontproxy.Process) {
	p.Stop()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}
