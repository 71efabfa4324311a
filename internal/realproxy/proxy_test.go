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
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// A kind is a kind of proxy: how it is configured, started and reloaded.
type kind struct {
	name   string
	args   func(dir string) []string
	config func(settings) string
	reload os.Signal

	// What it says when a reload begins, when a configuration has come into force, and
	// when a worker of an older one ends.
	reloading, running, replaced string
}

// settings are what a proxy's configuration is made of.
type settings struct {
	dir      string // its own; the path is short, as HAProxy's socket is in it
	addr     string // to listen on
	origin   string
	idle     time.Duration // how long a client's connection may idle
	certFile string        // certificate and key; empty: no TLS
}

// A proxy is a running one.
type proxy struct {
	kind
	settings
	path  string // of the program
	roots *x509.CertPool
	proc  *process
}

// startProxy starts a proxy in front of the origin and waits until it passes requests on.
// It ends with the test.
func startProxy(t *testing.T, k kind, origin string, idle time.Duration, pair *keyPair) *proxy {
	t.Helper()
	p := &proxy{kind: k, path: findProgram(t, k.name)}
	p.dir, p.origin, p.idle = tempDir(t), origin, idle
	if pair != nil {
		p.certFile, p.roots = filepath.Join(p.dir, "cert.pem"), pair.roots
		writeFile(t, p.certFile, append(pair.certPEM, pair.keyPEM...))
		writeFile(t, filepath.Join(p.dir, "key.pem"), pair.keyPEM)
	}
	t.Cleanup(func() {
		if p.proc != nil {
			p.proc.stop()
		}
	})
	var err error
	for range 3 { // between freePort and the proxy's bind somebody else may take the port
		p.addr = freePort(t)
		writeFile(t, filepath.Join(p.dir, "conf"), []byte(k.config(p.settings)))
		if err = p.start(); err == nil {
			return p
		}
	}
	t.Fatalf("%s did not start: %v", k.name, err)
	return nil
}

// start starts the program and waits until it passes requests on. After an error it
// doesn't run.
func (p *proxy) start() error {
	proc, err := startProcess(p.path, p.args(p.dir)...)
	if err != nil {
		return err
	}
	p.proc = proc
	if err := proc.await(p.running, 1, startTime); err != nil {
		proc.stop()
		return err
	}
	if err := p.passesOn(); err != nil {
		proc.stop()
		return fmt.Errorf("%w\n%s", err, proc.out.String())
	}
	return nil
}

// passesOn tries one request.
func (p *proxy) passesOn() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	rt := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.roots}, DisableKeepAlives: true}
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
	begun, _ := p.proc.out.count(p.reloading)
	loads, _ := p.proc.out.count(p.running)
	var err error
	for range 5 { // HAProxy's master can miss a signal right after it has said that it runs
		if err := p.proc.cmd.Process.Signal(p.reload); err != nil {
			return err
		}
		if err = p.proc.await(p.reloading, begun+1, time.Second); err == nil {
			return p.proc.await(p.running, loads+1, startTime)
		}
	}
	return err
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

func TestReloadReplacesTheWorkers(t *testing.T) {
	for _, k := range []kind{nginx, haproxy} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, k, startOrigin(t).Addr(), shortIdle, nil)
			if n, _ := p.proc.out.count(k.replaced); n != 0 {
				t.Fatalf("it said %q before the reload", k.replaced)
			}
			if err := p.reloadNow(); err != nil {
				t.Fatal(err)
			}
			if err := p.proc.await(k.replaced, 1, startTime); err != nil {
				t.Error(err)
			}
			if err := p.passesOn(); err != nil {
				t.Errorf("after the reload: %v", err)
			}
		})
	}
}
