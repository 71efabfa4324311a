package sidecar

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A rig is a sidecar that runs.
type rig struct {
	t       *testing.T
	p       *Proxy
	url     string // of the clients' listener
	addr    net.Addr
	admin   string // URL; empty without one
	log     *logBuffer
	end     context.CancelFunc // as SIGTERM
	ended   chan error         // what Run returned
	reloads chan struct{}
	results chan error // of reloads
}

// A logBuffer is a log that tests read.
type logBuffer struct {
	mu    sync.Mutex
	b     bytes.Buffer
	wrote chan struct{} // closed at the next line
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.wrote)
	l.wrote = make(chan struct{})
	return l.b.Write(p)
}

// wait blocks until the log has text.
func (l *logBuffer) wait(t *testing.T, text string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		l.mu.Lock()
		found, wrote := strings.Contains(l.b.String(), text), l.wrote
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-wrote:
		case <-limit:
			t.Fatalf("the log has no %q:\n%s", text, l)
		}
	}
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a sidecar with flags as "key=text" until the test ends.
func start(t *testing.T, flags ...string) *rig {
	t.Helper()
	return startFrom(t, Source{Flags: flagsOf(flags)})
}

func flagsOf(texts []string) (flags []Flag) {
	for _, f := range append([]string{"listen=127.0.0.1:0", "log.level=debug", "dial.proxy=none"}, texts...) {
		key, text, _ := strings.Cut(f, "=")
		flags = append(flags, Flag{key, text})
	}
	return flags
}

func startFrom(t *testing.T, src Source) *rig {
	t.Helper()
	set, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, log: &logBuffer{wrote: make(chan struct{})}, ended: make(chan error, 1), reloads: make(chan struct{}), results: make(chan error, 1)}
	ready := make(chan struct{})
	sc := &Sidecar{Source: src, Reload: r.reloads, Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	sc.Reloaded = func(err error) { r.results <- err }
	sc.Ready = func(p *Proxy, clients, admin net.Addr) {
		r.p, r.addr, r.url = p, clients, "http://"+clients.String()
		if admin != nil {
			r.admin = "http://" + admin.String()
		}
		close(ready)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.end = cancel
	go func() { r.ended <- sc.Run(ctx, set) }()
	select {
	case <-ready:
	case err := <-r.ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Log(r.log)
		}
	})
	return r
}

// reload asks for one and returns its result.
func (r *rig) reload() error {
	r.reloads <- struct{}{}
	return <-r.results
}

// stop ends the sidecar as SIGTERM does and returns what Run returned.
func (r *rig) stop() error {
	r.end()
	err := <-r.ended
	r.ended <- nil // for Cleanup
	return err
}

// origin is an upstream.
func origin(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// newClient is an HTTP client of its own connections, which sends nothing twice on its own account:
// requests with a body have no GetBody.
func newClient(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// unsized hides a body's length, so that it goes in chunks.
func unsized(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }

// do sends a request and returns the answer, with its body read.
func (r *rig) do(method, path string, body io.Reader, fields ...string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Add(fields[i], fields[i+1])
	}
	resp, err := newClient(r.t).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: the answer's body: %v", method, path, err)
	}
	return resp, string(b)
}

// wantField checks one field of an answer.
func wantField(t *testing.T, h http.Header, name, want string) {
	t.Helper()
	if got := strings.Join(h.Values(name), "|"); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}
