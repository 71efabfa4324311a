//go:build unix

package frontproxy

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"
)

// shell starts a shell that runs script.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := StartProcess("/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAwaitCountsWhatAProcessSays(t *testing.T) {
	p := shell(t, "echo loaded; echo loaded pid=17; exec sleep 60")
	if err := p.Await("loaded", 2, StartTime); err != nil {
		t.Error(err)
	}
	if match, err := p.AwaitMatch(regexp.MustCompile(`pid=(\d+)`), StartTime); err != nil || !slices.Equal(match, []string{"pid=17", "17"}) {
		t.Errorf("match %q, %v", match, err)
	}
	if err := p.Await("loaded", 3, 10*time.Millisecond); err == nil {
		t.Error("what wasn't said was awaited")
	}
}

func TestAwaitEndsWithTheProcess(t *testing.T) {
	p := shell(t, "echo bad configuration; exit 3")
	begin := time.Now()
	if err := p.Await("loaded", 1, StartTime); err == nil || time.Since(begin) >= StartTime {
		t.Errorf("error %v after %v", err, time.Since(begin))
	}
	if err := p.Wait(); err == nil {
		t.Error("exit code 3 is no error")
	}
	if err := p.Signal(syscall.SIGHUP); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to the ended process: %v, want ErrProcessDone", err)
	}
	p.Stop()
	p.Kill()
}

// A worker that holds the output open would keep Wait from its end.
func TestKillEndsWorkersToo(t *testing.T) {
	p := shell(t, "sleep 60 & echo running; wait")
	if err := p.Await("running", 1, StartTime); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	p.Kill()
	if d := time.Since(begin); d >= StopTime {
		t.Errorf("it took %v", d)
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	k := Kind{Name: "new", Protos: []Proto{H1}, programs: []program{{name: "sh"}, {name: "no-such-proxy"}}}
	_, err := Start(k, Settings{Origin: "127.0.0.1:1"})
	if missing, ok := errors.AsType[*NotInstalledError](err); !ok || *missing != (NotInstalledError{"new", "no-such-proxy"}) {
		t.Errorf("error %v, want that no-such-proxy is missing", err)
	}
}

func TestAProxyThatDoesNotStartLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	k := Kind{
		Name: "broken", Protos: []Proto{TLS},
		programs: []program{{
			name: "sh", running: "running",
			args: func(s setup) []string { return []string{"-c", "cat " + s.file("conf") + "; exit 1"} },
		}},
		files: func(s setup) map[string]string { return map[string]string{"conf": "line 1: unknown directive\n"} },
	}
	if _, err := Start(k, Settings{Origin: "127.0.0.1:1", Proto: H2}); err == nil {
		t.Error("it was started for a protocol that it doesn't speak")
	}
	_, err := Start(k, Settings{Origin: "127.0.0.1:1", Proto: TLS})
	if err == nil || !regexp.MustCompile("unknown directive").MatchString(err.Error()) {
		t.Errorf("error %v, want one with what the program said", err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
