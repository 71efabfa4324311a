package scenario

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
)

// A rut is a state in which a request, or a connection, goes no further.
type rut struct {
	name string
	in   func(speech) bool
	// enter brings tr into it, and returns the calls that are stuck.
	enter func(t *testing.T, r *rig, sp speech) (tr *pool.Transport, url string, stuck []<-chan error)
}

var ruts = []rut{
	{"answers that don't come", anywhere, func(t *testing.T, r *rig, sp speech) (*pool.Transport, string, []<-chan error) {
		s := r.depot(sp)
		tr := r.client(sp, pool.Config{MaxConnsPerHost: 2})
		calls, _ := s.occupy(t, tr.RoundTrip, s.url, 2)
		for range 2 {
			calls = append(calls, doer(tr.RoundTrip).start(newCall(context.Background(), http.MethodPost, s.url, oneShot)))
		}
		wantWaiting(t, tr, 2)
		return tr, s.url, calls
	}},
	{"handshakes that don't end", overTLS, func(t *testing.T, r *rig, sp speech) (*pool.Transport, string, []<-chan error) {
		var inside counter
		tr, url := r.client(sp, pool.Config{}), "https://"+r.silent(&inside)
		var calls []<-chan error
		for range 3 {
			calls = append(calls, doer(tr.RoundTrip).start(newCall(context.Background(), http.MethodPost, url, oneShot)))
		}
		if !within(patience, func() bool { return inside.now.Load() > 0 && gauges(tr).Waiting == 3 }) {
			t.Fatal("no handshake")
		}
		return tr, url, calls
	}},
	{"a hook that doesn't return", anywhere, func(t *testing.T, r *rig, sp speech) (*pool.Transport, string, []<-chan error) {
		var inside counter
		cfg := pool.Config{Base: &http.Transport{}}
		hanging(true)(r, &cfg, &inside)
		tr, url := r.client(sp, cfg), map[bool]string{true: "https", false: "http"}[sp.tls]+"://nowhere.test/"
		call := doer(tr.RoundTrip).start(newCall(context.Background(), http.MethodPost, url, oneShot))
		if !within(patience, func() bool { return inside.now.Load() > 0 }) {
			t.Fatal("no dial")
		}
		return tr, url, []<-chan error{call}
	}},
	{"uploads that nobody reads", anywhere, func(t *testing.T, r *rig, sp speech) (*pool.Transport, string, []<-chan error) {
		return stuckBehindTheRelay(t, r, sp, pool.Config{}, largeUpload)
	}},
	{"uploads that nobody reads, by a hook with TLS", overTLS, func(t *testing.T, r *rig, sp speech) (*pool.Transport, string, []<-chan error) {
		return stuckBehindTheRelay(t, r, sp, pool.Config{Base: &http.Transport{DialTLSContext: tlsHook(sp)}}, largeUpload)
	}},
	{"flows that were forgotten", anywhere, func(t *testing.T, r *rig, sp speech) (*pool.Transport, string, []<-chan error) {
		return stuckBehindTheRelay(t, r, sp, pool.Config{}, func(_ *testing.T, url string) *call {
			return newCall(context.Background(), http.MethodPost, url, oneShot)
		})
	}},
	{"answers whose bodies stall", anywhere, func(t *testing.T, r *rig, sp speech) (*pool.Transport, string, []<-chan error) {
		url := r.staller(sp)
		tr := r.client(sp, pool.Config{})
		var calls []<-chan error
		for range 3 {
			resp, err := tr.RoundTrip(newCall(context.Background(), http.MethodPost, url, oneShot).Request)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				done <- err
			}()
			calls = append(calls, done)
		}
		return tr, url, calls
	}},
}

// staller starts a server whose answers end in the middle of their bodies.
func (r *rig) staller(sp speech) (url string) {
	if sp.h2 {
		return r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
			_ = c.Settings()
			for q, err := c.Request(); err == nil; q, err = c.Request() {
				_ = c.Headers(q.Stream, false, ":status", "200")
				_ = c.Data(q.Stream, false, []byte("a part"))
			}
		}}).url
	}
	return r.peer(func(c *peerConn) {
		if _, err := c.request(); err == nil {
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na part")
			c.drain()
		}
	}).url
}

func largeUpload(t *testing.T, url string) *call {
	return newUpload(t, context.Background(), http.MethodPost, url, cargoOnce, strings.Repeat("x", 16<<20))
}

// tlsHook is a hook for TLS that leads where the plain one would.
func tlsHook(sp speech) hook {
	conf := clientTLS("127.0.0.1")
	if sp.h2 {
		conf.NextProtos = []string{"h2"}
	}
	return (&tls.Dialer{Config: conf}).DialContext
}

// stuckBehindTheRelay sends a request on a connection whose bytes don't arrive any more.
func stuckBehindTheRelay(t *testing.T, r *rig, sp speech, cfg pool.Config, request func(t *testing.T, url string) *call) (*pool.Transport, string, []<-chan error) {
	s := r.site(sp, manners{})
	l := r.plug(s.addr)
	if cfg.Base == nil {
		cfg.Base = &http.Transport{DialContext: hookTo(l.addr)}
	} else {
		inner := cfg.Base.DialTLSContext
		cfg.Base.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) { return inner(ctx, network, l.addr) }
	}
	tr := r.client(sp, cfg)
	doer(tr.RoundTrip).must(t, newPatient(t, http.MethodGet, s.url, noBody))
	l.stop()
	done := make(chan error, 1)
	c := request(t, s.url)
	go func() {
		resp, err := tr.RoundTrip(c.Request)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	if !within(patience, c.body.rests()) {
		t.Fatalf("after %d bytes: %+v", c.body.bytes.Load(), gauges(tr))
	}
	return tr, s.url, []<-chan error{done}
}

// rests returns what tells, when it is asked again and again, that nothing was read of the
// body for a while although something was before.
func (b *onceBody) rests() func() bool {
	const while = 30 * time.Millisecond
	seen, since := int64(0), time.Now()
	return func() bool {
		if n := b.bytes.Load(); n != seen {
			seen, since = n, time.Now()
		}
		return seen > 0 && time.Since(since) > while
	}
}

// A plug is a relay that can stop reading, so that what is written to it fills the sockets.
type plug struct {
	addr string
	stop func()
}

func (r *rig) plug(to string) *plug {
	stopped, over := make(chan struct{}), make(chan struct{})
	p := &plug{stop: sync.OnceFunc(func() { close(stopped) })}
	r.t.Cleanup(func() { close(over) }) // before the peers wait for the connections' end
	p.addr = r.peerIn(plain, func(c *peerConn) {
		far, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer far.Close()
		// What was stopped is read again only when its end is to be seen.
		back := make(chan struct{})
		go func() {
			defer close(back)
			io.Copy(struct{ io.Writer }{c.tcp}, struct{ io.Reader }{far})
		}()
		gate := &gated{c.tcp, stopped, over}
		io.Copy(struct{ io.Writer }{far}, gate)
		far.Close()
		c.tcp.Close()
		<-back
	}).addr
	return p
}

// A gated reader doesn't read while it is stopped.
type gated struct {
	c             net.Conn
	stopped, over chan struct{}
}

func (g *gated) Read(p []byte) (int, error) {
	select {
	case <-g.stopped:
		<-g.over
		return 0, io.EOF
	default:
	}
	n, err := g.c.Read(p)
	select {
	case <-g.stopped:
		<-g.over
		return 0, io.EOF
	default:
		return n, err
	}
}
