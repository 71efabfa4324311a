package bench

import (
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A forwarder is a proxy of a test's own: it knows nothing of HTTP, and a reload cuts each
// connection.
type forwarder struct {
	ln       net.Listener
	setup    ProxySetup
	accepted int           // read when it's closed
	reloaded chan struct{} // gets one for each reload, up to its room
	broken   error         // what Reload returns
	wg       sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// forward starts one. It has a look whether the origin is there, which counts as no client's dial.
func forward(s ProxySetup) (*forwarder, error) {
	c, err := net.Dial("tcp", s.Origin)
	if err != nil {
		return nil, err
	}
	_ = c.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &forwarder{ln: ln, setup: s, open: make(map[net.Conn]bool), reloaded: make(chan struct{}, 1)}
	f.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f.accepted++
			f.wg.Go(func() { f.join(c) })
		}
	})
	return f, nil
}

func (f *forwarder) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", f.setup.Origin)
	if err != nil {
		return
	}
	defer server.Close()
	f.mu.Lock()
	f.open[client], f.open[server] = true, true
	if f.closed {
		_ = client.Close()
	}
	f.mu.Unlock()
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		ways.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
			_ = way[1].Close()
		})
	}
	ways.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, client)
	delete(f.open, server)
}

func (f *forwarder) Addr() string          { return f.ln.Addr().String() }
func (f *forwarder) Roots() *x509.CertPool { return nil }

func (f *forwarder) Reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case f.reloaded <- struct{}{}:
	default:
	}
	for c := range f.open {
		_ = c.Close()
	}
	return f.broken
}

func (f *forwarder) Close() error {
	_ = f.ln.Close()
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	_ = f.Reload()
	f.wg.Wait()
	return nil
}

// forwarders make a Proxy, and remember what it started.
func forwarders() (Proxy, *[]*forwarder) {
	var started []*forwarder
	return Proxy{
		Name: "forwarder", Note: "of a test", Protos: []string{"h1"}, Reloads: true,
		Start: func(s ProxySetup) (Front, error) {
			f, err := forward(s)
			started = append(started, f)
			return f, err
		},
	}, &started
}

func TestRowsBehindAProxy(t *testing.T) {
	x, started := forwarders()
	rep, err := Run(t.Context(), Options{
		Proxies: []Proxy{x}, Protos: []string{"h1"}, Clients: []Client{Connwise()},
		Duration: 300 * time.Millisecond, Rounds: 1, Workers: 4, IdleTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if names := namesOf(rep.Results, func(r Result) string { return r.Key().String() }); !slices.Equal(names, []string{
		"idle-race h1 behind forwarder connwise", "restart h1 behind forwarder connwise",
	}) || len(*started) != 2 {
		t.Fatalf("rows %q, %d proxies", names, len(*started))
	}
	if want := (Skip{"keepalive-requests", "h1", "forwarder", "forwarder has no limit on the requests of a connection over h1"}); len(rep.Skipped) != 1 || rep.Skipped[0] != want {
		t.Errorf("skipped %v, want %v", rep.Skipped, want)
	}
	for i, r := range rep.Results {
		f := (*started)[i]
		if r.Dials == nil || int(*r.Dials) != f.accepted {
			t.Errorf("%s: dials %s, want the client's %d", r.Key(), count(r.Dials), f.accepted)
		}
		if r.WastedDials != nil || r.PeakConns != nil || r.TimersLate == nil {
			t.Errorf("%s: wasted %s, peak %s, late %v", r.Key(), count(r.WastedDials), count(r.PeakConns), r.TimersLate)
		}
		if *r.ExecutedTwice != 0 || *r.Lost != 0 || r.Succeeded() < r.Requests/2 || !f.closed {
			t.Errorf("%s: %d calls, %d done, %d twice, %d lost; closed: %v", r.Key(), r.Requests, r.Succeeded(), *r.ExecutedTwice, *r.Lost, f.closed)
		}
	}
	if s := (*started)[0].setup; s.Delay != proxyDelay || s.IdleTimeout != 100*time.Millisecond {
		t.Errorf("idle-race's proxy was told %+v", s)
	}
	var b strings.Builder
	if err := rep.WriteTable(&b); err != nil || !strings.Contains(b.String(), "keepalive-requests h1 behind forwarder: not run, as ") {
		t.Errorf("the table doesn't say what was skipped (%v):\n%s", err, b.String())
	}
}

func TestTheProxyReloadsInARound(t *testing.T) {
	for _, broken := range []error{nil, errors.New("broken")} {
		f := &forwarder{reloaded: make(chan struct{}, 1), broken: broken}
		r := &rig{front: f, latency: newLatencies(), length: 20 * time.Millisecond}
		if err := r.whileItReloads(func() { <-f.reloaded }); err != broken {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
}

// A client that doesn't use Setup.Transport's dialer makes dials that nobody sees.
func TestDialsThatNobodySawAreNotZero(t *testing.T) {
	tl := tally{record: new(record), latency: newHistogram()}
	if r := tl.result(row{proxy: &Proxy{}}, "other"); r.Dials != nil {
		t.Errorf("dials %d, want none said", *r.Dials)
	}
}

func TestOptionsThatDoNotGoWithProxies(t *testing.T) {
	x, _ := forwarders()
	for _, c := range []struct {
		name, option string
		o            Options
	}{
		{"a target", "proxy", Options{Target: "http://127.0.0.1:1/"}},
		{"all", "all", Options{All: true}},
		{"a scenario without a proxy", "scenario", Options{Scenarios: []string{"steady"}}},
		{"a protocol of no scenario", "proto", Options{Protos: []string{"h2c"}}},
		{"a delay", "delay", Options{Delay: time.Second}},
	} {
		c.o.Proxies = []Proxy{x}
		_, err := c.o.plan()
		if e, ok := errors.AsType[*UsageError](err); !ok || e.Option != c.option {
			t.Errorf("%s: error %v, want a UsageError for %s", c.name, err, c.option)
		}
	}
}

func TestRowsThatAProxyCannotRun(t *testing.T) {
	still := Proxy{Name: "still", Protos: []string{"h1", "h2"}, Limits: []string{"h2"}}
	p, err := Options{Proxies: []Proxy{still}}.plan()
	if err != nil {
		t.Fatal(err)
	}
	got := namesOf(p.rows, func(w row) string { return w.String() })
	for _, s := range p.skipped {
		got = append(got, s.Scenario+" "+s.Proto+": "+s.Reason)
	}
	want := []string{
		"idle-race h1 still", "idle-race h2 still", "goaway h2 still",
		"restart h1: still can't reload", "restart h2: still can't reload",
		"keepalive-requests h1: still has no limit on the requests of a connection over h1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if d := p.length(p.rows[0]); d != proxiedScenarios[0].usual {
		t.Errorf("idle-race runs for %v", d)
	}
	p, err = Options{Proxies: []Proxy{still}, Requests: 50_000}.plan()
	if err != nil {
		t.Fatal(err)
	}
	if d := p.length(p.rows[0]); d != untilMade {
		t.Errorf("idle-race with Requests runs for %v", d)
	}
}
