//go:build sidecar && linux

package sidecartest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTime = 10 * time.Second // for a program to start, on a full machine
	stopTime  = 10 * time.Second
	maxOutput = 1 << 20
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

// A process is a server that runs in the foreground, with what it says.
type process struct {
	cmd    *exec.Cmd
	out    output
	exited chan struct{}
}

// start starts a server, and ends it with the test. It waits until the server has said what
// running matches, and returns the match.
func start(t *testing.T, running *regexp.Regexp, path string, args ...string) (*process, []string) {
	t.Helper()
	p := &process{cmd: command(path, args...), exited: make(chan struct{})}
	p.out.changed = make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ProcessState has it
	}()
	t.Cleanup(func() { p.stop(t) })
	match, err := p.await(running, 1)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return p, match
}

// command is a program in a process group of its own, which ends when this process dies
// without a chance to end it (a test that timed out panics).
func command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = stopTime
	return cmd
}

// stop ends the server in an orderly way, and asks that it ends so.
func (p *process) stop(t *testing.T) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTime):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
	}
	if !p.cmd.ProcessState.Success() {
		t.Errorf("%s: %v\n%s", p.cmd.Path, p.cmd.ProcessState, p.out.String())
	}
}

// await waits until the server has said n times what mark matches, and returns the last match.
func (p *process) await(mark *regexp.Regexp, n int) ([]string, error) {
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	for {
		got, changed := p.out.find(mark)
		if len(got) >= n {
			return got[n-1], nil
		}
		select {
		case <-changed:
		case <-p.exited:
			return nil, fmt.Errorf("it ended:\n%s", p.out.String())
		case <-timer.C:
			return nil, fmt.Errorf("it said %s %d times, not %d:\n%s", mark, len(got), n, p.out.String())
		}
	}
}

// An output is what a process has said: the first maxOutput bytes of it.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and replaced by every Write
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b[:min(len(b), maxOutput-o.text.Len())])
	close(o.changed)
	o.changed = make(chan struct{})
	return len(b), nil
}

func (o *output) find(mark *regexp.Regexp) (matches [][]string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return mark.FindAllStringSubmatch(o.text.String(), -1), o.changed
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
