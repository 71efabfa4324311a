//go:build unix

package frontproxy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

const (
	// StartTime is long enough for a server to start or reload, on a full machine.
	StartTime = 10 * time.Second
	// StopTime is how long one may take to end in an orderly way.
	StopTime = 10 * time.Second
)

// A Process is a server that runs in the foreground, with what it says.
type Process struct {
	cmd    *exec.Cmd
	out    output
	exited chan struct{}
}

// Command is a program in a process group of its own, which ends, on Linux, when this process dies
// without a chance to end it.
func Command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = childAttr()
	cmd.WaitDelay = StopTime
	return cmd
}

// StartProcess starts a program in a process group of its own. The caller has to Stop or Kill it.
func StartProcess(path string, args ...string) (*Process, error) {
	p := &Process{cmd: Command(path, args...), exited: make(chan struct{})}
	p.out.changed = make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("frontproxy: %w", err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ProcessState has it
	}()
	return p, nil
}

// Pid is the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends it a signal. The error is os.ErrProcessDone when it has ended.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Output is what it has said so far, the first MiB of it.
func (p *Process) Output() string { return p.out.String() }

// Stop ends the process and its workers in an orderly way, or after StopTime in any, and waits for
// them. It may be called again.
func (p *Process) Stop() {
	_ = p.Signal(syscall.SIGTERM)
	timer := time.NewTimer(StopTime)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.Kill()
	}
}

// Kill ends the process and its workers at once and waits for them. It may be called again.
func (p *Process) Kill() {
	select {
	case <-p.exited: // the group's id may be another's by now
	default:
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
		<-p.exited
	}
}

// Wait waits until the process has ended. Its error tells how, unless that was with success.
func (p *Process) Wait() error {
	<-p.exited
	if p.cmd.ProcessState.Success() {
		return nil
	}
	return fmt.Errorf("frontproxy: %s: %v\n%s", p.cmd.Path, p.cmd.ProcessState, p.Output())
}

// Said is how often the process has said mark.
func (p *Process) Said(mark string) (n int) {
	p.out.read(func(text []byte) { n = bytes.Count(text, []byte(mark)) })
	return n
}

// Await waits until the process has said mark n times, but no longer than max.
func (p *Process) Await(mark string, n int, max time.Duration) error {
	return p.await(max, fmt.Sprintf("%q", mark), func(text []byte) bool {
		return bytes.Count(text, []byte(mark)) >= n
	})
}

// AwaitMatch waits until the process has said what re matches, but no longer than max, and returns
// the match and its groups.
func (p *Process) AwaitMatch(re *regexp.Regexp, max time.Duration) (match []string, err error) {
	err = p.await(max, re.String(), func(text []byte) bool {
		match = re.FindStringSubmatch(string(text))
		return match != nil
	})
	return match, err
}

func (p *Process) await(max time.Duration, what string, said func(text []byte) bool) error {
	timer := time.NewTimer(max)
	defer timer.Stop()
	for {
		done := false
		changed := p.out.read(func(text []byte) { done = said(text) })
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-p.exited:
			return fmt.Errorf("frontproxy: %s has ended and hasn't said %s:\n%s", p.cmd.Path, what, p.Output())
		case <-timer.C:
			return fmt.Errorf("frontproxy: %s runs and hasn't said %s within %v:\n%s", p.cmd.Path, what, max, p.Output())
		}
	}
}
