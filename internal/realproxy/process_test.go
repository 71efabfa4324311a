//go:build proxies && unix

package realproxy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTime = 10 * time.Second // for a proxy to start or reload, on a full machine
	stopTime  = 5 * time.Second
	maxOutput = 256 << 10
)

// lookProgram looks in PATH and where distributions keep servers.
func lookProgram(name string) (path string, ok bool) {
	for _, p := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(p); err == nil {
			return path, true
		}
	}
	return "", false
}

// findProgram is lookProgram, but without the program the test is skipped or, with CI=true, fails.
func findProgram(t *testing.T, name string) string {
	t.Helper()
	if path, ok := lookProgram(name); ok {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed, and CI=true", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// A process is a proxy that runs in the foreground, with what it said.
type process struct {
	cmd    *exec.Cmd
	out    output
	exited chan struct{}
}

func startProcess(path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), exited: make(chan struct{})}
	p.out.changed = make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = childAttr()
	p.cmd.WaitDelay = stopTime
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // a proxy's exit code tells nothing that its output doesn't
	}()
	return p, nil
}

// stop ends the process and its workers and waits for them. It may be called again.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTime):
		p.kill()
	}
}

// kill ends the process and its workers at once and waits for them.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

// await waits until the process has said mark n times, but no longer than max.
func (p *process) await(mark string, n int, max time.Duration) error {
	timer := time.NewTimer(max)
	defer timer.Stop()
	for {
		got, changed := p.out.count(mark)
		if got >= n {
			return nil
		}
		select {
		case <-changed:
		case <-p.exited:
			return fmt.Errorf("it ended:\n%s", p.out.String())
		case <-timer.C:
			return fmt.Errorf("it said %q %d times, not %d:\n%s", mark, got, n, p.out.String())
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

func (o *output) count(mark string) (n int, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Count(o.text.Bytes(), []byte(mark)), o.changed
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestAProcessThatEndsIsNotWaitedFor(t *testing.T) {
	p, err := startProcess(findProgram(t, "nginx"), "-c", "/nonexistent/nginx.conf", "-e", "stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	if err := p.await("start worker process", 1, startTime); err == nil {
		t.Error("a proxy without a configuration is said to have started")
	}
	if err := p.cmd.Process.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to the ended process: %v, want ErrProcessDone", err)
	}
}
