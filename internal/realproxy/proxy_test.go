//go:build proxies && unix

package realproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// settings are what a proxy's configuration is made of.
type settings struct {
	dir      string // its own; the path is short, as HAProxy's socket is in it
	addr     string // to listen on
	inner    string // to listen on, for a kind with a program behind the clients' one
	origin   string
	idle     time.Duration // how long a client's connection may idle
	unused   time.Duration // how long one may that carried nothing, where kind.unused has that; zero: the kind's default
	certFile string        // certificate and key; empty: no TLS
	http2    bool          // offer h2 besides http/1.1
	requests int           // how many requests a connection takes; zero: the kind's default, 1000 or no limit
}

// keyFile is the key alone, for proxies that want it so.
func (s settings) keyFile() string { return filepath.Join(s.dir, "key.pem") }

func (s settings) file(name string) string { return filepath.Join(s.dir, name) }

// A proxy is a running one.
type proxy struct {
	kind
	settings
	paths []string // of the programs
	roots *x509.CertPool
	procs []*process // in the order of the kind's programs
}

// startProxy starts a proxy as s says and waits until it passes requests on. It ends with
// the test.
func startProxy(t *testing.T, k kind, s settings, pair *keyPair) *proxy {
	t.Helper()
	p := &proxy{kind: k, settings: s}
	for _, prog := range k.programs {
		p.paths = append(p.paths, findProgram(t, prog.name))
	}
	p.dir = tempDir(t)
	if pair != nil {
		p.certFile, p.roots = p.file("cert.pem"), pair.roots
		writeFile(t, p.certFile, append(pair.certPEM, pair.keyPEM...))
		writeFile(t, p.keyFile(), pair.keyPEM)
	}
	t.Cleanup(p.stop)
	var err error
	for range 3 { // between freePort and the proxy's bind somebody else may take the port
		p.addr, p.inner = freePort(t), freePort(t)
		for name, text := range k.files(p.settings) {
			writeFile(t, p.file(name), []byte(text))
		}
		if err = p.start(); err == nil {
			return p
		}
	}
	t.Fatalf("%s did not start: %v", k.name, err)
	return nil
}

// start starts the programs and waits until they pass requests on. After an error none
// of them runs.
func (p *proxy) start() error {
	p.procs = nil
	for i, prog := range p.programs {
		if err := p.startProgram(p.paths[i], prog); err != nil {
			p.stop()
			return err
		}
	}
	if err := p.passesOn(); err != nil {
		p.stop()
		return fmt.Errorf("%w\n%s", err, p.front().out.String())
	}
	return nil
}

func (p *proxy) startProgram(path string, prog program) error {
	proc, err := startProcess(path, prog.args(p.settings)...)
	if err != nil {
		return err
	}
	p.procs = append(p.procs, proc)
	return proc.await(prog.running, 1, startTime)
}

// front is the program that clients connect to.
func (p *proxy) front() *process { return p.procs[len(p.procs)-1] }

// stop ends the programs in an orderly way, the clients' one first. It may be called again.
func (p *proxy) stop() {
	for _, proc := range slices.Backward(p.procs) {
		proc.stop()
	}
}

func (p *proxy) kill() {
	for _, proc := range slices.Backward(p.procs) {
		proc.kill()
	}
}

// passesOn tries requests until one is answered by the origin, or for startTime: some
// proxies say that they run a moment before they listen.
func (p *proxy) passesOn() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	rt := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.roots}, DisableKeepAlives: true}
	for {
		err := p.tryOnce(ctx, rt)
		if err == nil || !pause(10*time.Millisecond, ctx.Done()) {
			return err
		}
	}
}

func (p *proxy) tryOnce(ctx context.Context, rt http.RoundTripper) error {
	scheme := "http"
	if p.certFile != "" {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+p.addr+"/ready", nil)
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get(peer.HeaderID) == "" {
		return errors.New("the answer is not the origin's: " + resp.Status)
	}
	return nil
}

// reloadNow makes the proxy read its configuration again, and waits until it has. Old
// workers may still be ending then.
func (p *proxy) reloadNow() error {
	if p.reloadArgs != nil {
		return p.runReload()
	}
	running := p.programs[len(p.programs)-1].running
	begun, _ := p.front().out.count(p.reloading)
	loads, _ := p.front().out.count(running)
	var err error
	for range 5 { // HAProxy's master can miss a signal right after it has said that it runs
		if err := p.front().cmd.Process.Signal(p.reload); err != nil {
			return err
		}
		if err = p.front().await(p.reloading, begun+1, reloadWait); err == nil {
			return p.front().await(running, loads+1, startTime)
		}
	}
	return err
}

// runReload runs the command that tells the front program to reload, and waits for it.
func (p *proxy) runReload() error {
	proc, err := startProcess(p.paths[len(p.paths)-1], p.reloadArgs(p.settings)...)
	if err != nil {
		return err
	}
	select {
	case <-proc.exited:
	case <-time.After(startTime):
		proc.kill()
	}
	if !proc.cmd.ProcessState.Success() {
		return fmt.Errorf("reload of %s: %v\n%s", p.name, proc.cmd.ProcessState, proc.out.String())
	}
	return nil
}

// tempDir is t.TempDir with a short path.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "realproxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
