//go:build unix

package frontproxy

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"example.com/connwise/internal/peer"
)

// A Proxy is one that was started. Its methods aren't for concurrent use, but for Addr, Roots and
// Front's.
type Proxy struct {
	kind  Kind
	setup setup
	paths []string // of the programs
	roots *x509.CertPool
	procs []*Process // in the order of the kind's programs
}

// Start starts a proxy as s says and waits until it passes requests on, which takes up to
// a second, or three times StartTime where it doesn't. The caller has to Close it. The error is
// a *NotInstalledError where a program is missing.
func Start(k Kind, s Settings) (*Proxy, error) {
	s.Proto = cmp.Or(s.Proto, H1)
	if !slices.Contains(k.Protos, s.Proto) {
		return nil, fmt.Errorf("frontproxy: %s isn't for %s", k.Name, s.Proto)
	}
	if k.Seconds && (s.Idle < time.Second || s.Idle%time.Second != 0) {
		return nil, fmt.Errorf("frontproxy: %s takes whole seconds for an idle timeout, not %v", k.Name, s.Idle)
	}
	paths, err := k.paths()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "realproxy")
	if err != nil {
		return nil, fmt.Errorf("frontproxy: %w", err)
	}
	p := &Proxy{kind: k, setup: setup{Settings: s, dir: dir}, paths: paths}
	if err := p.open(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// open writes the proxy's files and starts it, on a port that is free.
func (p *Proxy) open() error {
	if p.setup.Proto != H1 {
		if err := p.certify(); err != nil {
			return err
		}
	}
	var err error
	for range 3 { // between FreePort and the proxy's bind somebody else may take the port
		if err = p.configure(); err != nil {
			return err
		}
		if err = p.StartAgain(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("frontproxy: %s did not start: %w", p.kind.Name, err)
}

// StartAgain starts a proxy that was stopped or killed, on its old port, and waits until it passes
// requests on. After an error it doesn't run.
func (p *Proxy) StartAgain() error {
	p.procs = nil
	for i, prog := range p.kind.programs {
		if err := p.startProgram(p.paths[i], prog); err != nil {
			p.Stop()
			return err
		}
	}
	if err := p.Ready(); err != nil {
		p.Stop()
		return fmt.Errorf("%w\n%s", err, p.Front().Output())
	}
	return nil
}

func (p *Proxy) startProgram(path string, prog program) error {
	proc, err := StartProcess(path, prog.args(p.setup)...)
	if err != nil {
		return err
	}
	p.procs = append(p.procs, proc)
	return proc.Await(prog.running, 1, StartTime)
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.setup.addr }

// Roots are what clients have to trust; nil without TLS.
func (p *Proxy) Roots() *x509.CertPool { return p.roots }

// Front is the program that clients connect to. StartAgain makes another one.
func (p *Proxy) Front() *Process { return p.procs[len(p.procs)-1] }

// Stop ends the programs in an orderly way, the clients' one first. It may be called again.
func (p *Proxy) Stop() {
	for _, proc := range slices.Backward(p.procs) {
		proc.Stop()
	}
}

// Kill ends the programs and their workers at once.
func (p *Proxy) Kill() {
	for _, proc := range slices.Backward(p.procs) {
		proc.Kill()
	}
}

// Close stops the proxy and removes its files. It may be called again.
func (p *Proxy) Close() error {
	p.Stop()
	return os.RemoveAll(p.setup.dir)
}

// certify makes the proxy's certificate.
func (p *Proxy) certify() error {
	a, err := peer.NewAuthority()
	if err != nil {
		return err
	}
	p.roots = a.Roots()
	return p.writeCert(a.Certificate())
}
