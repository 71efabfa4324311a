package peer

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// closeGrace is how long a child has to end once its stdin is closed.
const closeGrace = 5 * time.Second

// A Child is a process that runs Servers on the caller's command. It ends when
// Close is called and when this process ends, in whatever way.
type Child struct {
	cmd   *exec.Cmd
	roots *x509.CertPool

	mu     sync.Mutex // one command at a time; guards what follows
	stdin  io.WriteCloser
	out    *json.Encoder // to stdin
	in     *json.Decoder // from stdout
	closed bool
}

// Spawn starts this program again as a child (see IsChild) and waits for its
// greeting. What the child writes to stderr goes to stderr, which may be nil.
func Spawn(stderr io.Writer) (*Child, error) {
	if IsChild() {
		// Without this check a program that forgot to look would start itself for ever.
		return nil, errors.New("peer: this process is a peer child itself; call ChildMain where IsChild reports true")
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = stderr
	cmd.WaitDelay = closeGrace
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	c := &Child{
		cmd:   cmd,
		roots: x509.NewCertPool(),
		stdin: stdin,
		out:   json.NewEncoder(stdin),
		in:    json.NewDecoder(bufio.NewReader(stdout)),
	}
	var hello reply
	err = c.in.Decode(&hello)
	if err == nil && !c.roots.AppendCertsFromPEM(hello.CA) {
		err = errors.New("no certificate")
	}
	if err != nil {
		_ = c.Close() // the greeting's error says more
		return nil, fmt.Errorf("peer: the child did not greet: %w", err)
	}
	return c, nil
}

// Roots returns the authority of the child's TLS servers.
func (c *Child) Roots() *x509.CertPool { return c.roots }

// Pid returns the child's process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Close ends the child and its servers, and waits for it.
func (c *Child) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	_ = c.stdin.Close()
	kill := time.AfterFunc(closeGrace, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("peer: child: %w", err)
	}
	return nil
}

// do sends a command and waits for the reply.
func (c *Child) do(cmd command) (reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r reply
	if c.closed {
		return r, errors.New("peer: child is closed")
	}
	if err := c.out.Encode(cmd); err != nil {
		return r, fmt.Errorf("peer: %s: %w", cmd.Op, err)
	}
	if err := c.in.Decode(&r); err != nil {
		return r, fmt.Errorf("peer: %s: the child is gone: %w", cmd.Op, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("peer: %s: %s", cmd.Op, r.Error)
	}
	return r, nil
}

func (c *Child) count(server int) (Count, error) {
	r, err := c.do(command{Op: "count", Server: server})
	if err == nil && r.Count == nil {
		err = errors.New("peer: count: reply without one")
	}
	if err != nil {
		return Count{}, err
	}
	return *r.Count, nil
}

func (c *Child) down(server int, d time.Duration) error {
	_, err := c.do(command{Op: "down", Server: server, Away: d})
	return err
}

// Listen starts a Server in the child, with TLS or without.
func (c *Child) Listen(tls bool, f Faults) (*Remote, error) {
	r, err := c.do(command{Op: "listen", TLS: tls, Faults: &f})
	if err != nil {
		return nil, err
	}
	return &Remote{child: c, server: r.Server, addr: r.Addr}, nil
}

// A Remote is a Server in a Child. Its methods do what the Server's do, and fail
// when the child is gone.
type Remote struct {
	child  *Child
	server int
	addr   string
}

// Addr returns the server's "127.0.0.1:port".
func (r *Remote) Addr() string { return r.addr }

// SetFaults replaces the faults.
func (r *Remote) SetFaults(f Faults) error {
	_, err := r.child.do(command{Op: "faults", Server: r.server, Faults: &f})
	return err
}

// Drop closes connections as d says and returns how many.
func (r *Remote) Drop(d Drop) (int, error) {
	rep, err := r.child.do(command{Op: "drop", Server: r.server, Drop: &d})
	return rep.Dropped, err
}

// SetCut cuts coming requests as c says.
func (r *Remote) SetCut(c Cut) error {
	_, err := r.child.do(command{Op: "cut", Server: r.server, Cut: &c})
	return err
}

// Down has nobody listen for d.
func (r *Remote) Down(d time.Duration) error { return r.child.down(r.server, d) }

// Count returns the connections so far.
func (r *Remote) Count() (Count, error) { return r.child.count(r.server) }

// Report returns what the server has seen so far.
func (r *Remote) Report() (Report, error) { return r.report("report") }

// Close closes the server, forgets it, and returns its final report.
func (r *Remote) Close() (Report, error) { return r.report("close") }

func (r *Remote) report(op string) (Report, error) {
	rep, err := r.child.do(command{Op: op, Server: r.server})
	if err == nil && rep.Report == nil {
		err = fmt.Errorf("peer: %s: reply without a report", op)
	}
	if err != nil {
		return Report{}, err
	}
	return *rep.Report, nil
}
