package retry_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// What the server sees of bodies, over every protocol.

// A wire is a protocol, and what the client uses.
type wire struct {
	name   string
	secure bool
	h2     bool
	stock  bool // net/http's Transport in place of a pool
}

var wires = []wire{
	{name: "h1"}, {name: "TLS", secure: true}, {name: "h2", secure: true, h2: true},
	{name: "net/http h1", stock: true}, {name: "net/http h2", secure: true, h2: true, stock: true},
}

// A site is a server, and the Base by which it is called.
type site struct {
	url   string
	base  http.RoundTripper
	conns atomic.Int32

	mu    sync.Mutex
	whole []string // the bodies that arrived to their end
}

// start runs a server. The first connection, if first isn't nil, is its alone: it is
// called behind the TLS handshake, and closed by a reset.
func (w wire) start(t *testing.T, first func(net.Conn), h http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = w.h2
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}
	gate := &gate{Listener: srv.Listener, first: first, wire: w}
	srv.Listener = gate
	if w.secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	s.url = srv.URL
	conf := &tls.Config{RootCAs: rootPool(), ServerName: originName}
	tr := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: w.h2, ExpectContinueTimeout: 10 * time.Second}
	if w.stock {
		t.Cleanup(tr.CloseIdleConnections)
		s.base = tr
		return s
	}
	p, err := pool.New(pool.Config{Base: tr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	s.base = p
	return s
}

// A gate keeps the first connection from the server.
type gate struct {
	net.Listener
	wire  wire
	first func(net.Conn)
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil || g.first == nil {
		return c, err
	}
	raw, first := c.(*net.TCPConn), g.first
	g.first = nil
	if g.wire.secure {
		conf := serverTLS()
		if g.wire.h2 {
			conf.NextProtos = []string{"h2"}
		}
		c = tls.Server(raw, conf)
	}
	first(c)
	end(raw, true)
	return g.Listener.Accept()
}

// take reads the request's body and keeps it if it is whole.
func (s *site) take(r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = append(s.whole, string(b))
}

func (s *site) wantWhole(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.whole) != len(want) {
		t.Errorf("%d whole bodies arrived, want %d: %.100q", len(s.whole), len(want), s.whole)
		return
	}
	for i := range want {
		if s.whole[i] != want[i] {
			t.Errorf("body %d has %d bytes, want %d: %.50q", i+1, len(s.whole[i]), len(want[i]), s.whole[i])
		}
	}
}

// call sends a request that may be repeated and returns how often it was sent again.
func (s *site) call(t *testing.T, p retry.Policy, change func(*http.Request)) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "PUT", s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	var report retry.Report
	req = req.WithContext(retry.WithReport(retry.WithIdempotent(req.Context()), &report))
	change(req)
	tr := &retry.Transport{Base: s.base, Policy: quick(p)}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return report.Retries, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return report.Retries, err
}

func eachWire(t *testing.T, f func(t *testing.T, w wire)) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}

// TestSecondAttemptIsWholeOrNone: the first attempt is cut when its body was read. The second one
// has the same bytes, or never looks whole to the server.
func TestSecondAttemptIsWholeOrNone(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<12) // 64 KiB
	file := func(truncated bool, length int64) func(*testing.T, *http.Request) func() {
		return func(t *testing.T, req *http.Request) func() {
			name := filepath.Join(t.TempDir(), "upload")
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			req.Body, req.ContentLength = f, length
			return func() {
				if truncated {
					os.Truncate(name, 0)
				}
			}
		}
	}
	once := func(length int64) func(*testing.T, *http.Request) func() {
		return func(_ *testing.T, req *http.Request) func() {
			req.Body, req.ContentLength = readCloser{strings.NewReader(text), io.NopCloser(nil)}, length
			return func() {}
		}
	}
	same := func(length int64) func(*testing.T, *http.Request) func() {
		return func(t *testing.T, req *http.Request) func() {
			once(length)(t, req)
			body := req.Body
			req.GetBody = func() (io.ReadCloser, error) { return body, nil }
			return func() {}
		}
	}
	size := int64(len(text))
	for _, tt := range []struct {
		name     string
		load     func(*testing.T, *http.Request) (between func())
		attempts int // that are begun
		whole    int // that arrive whole
	}{
		{"file", file(false, size), 2, 2},
		{"file of unknown length", file(false, -1), 2, 2},
		{"truncated file", file(true, size), 2, 1},
		{"truncated file of unknown length", file(true, -1), 2, 1},
		{"GetBody returns the same reader", same(size), 2, 1},
		{"the same, of unknown length", same(-1), 2, 1},
		{"one-shot", once(size), 1, 1},
		{"one-shot of unknown length", once(-1), 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, w wire) {
				var s *site
				var between func()
				var n atomic.Int32
				s = w.start(t, nil, func(_ http.ResponseWriter, r *http.Request) {
					s.take(r)
					if n.Add(1) == 1 {
						between()
						panic(http.ErrAbortHandler)
					}
				})
				retries, err := s.call(t, retry.Policy{MaxRetries: 1}, func(req *http.Request) { between = tt.load(t, req) })
				if (err == nil) != (tt.whole == 2) || retries != tt.attempts-1 {
					t.Errorf("got %v after %d retries", err, retries)
				}
				if _, callers := errors.AsType[*pool.CallerError](err); !w.stock && callers != (tt.attempts != tt.whole) {
					t.Errorf("the caller's fault: %v; %v", callers, err)
				}
				s.wantWhole(t, []string{text, text}[:tt.whole]...)
			})
		})
	}
}

// headThenReset reads a request's head.
func headThenReset(w wire) func(net.Conn) {
	if !w.h2 {
		return func(c net.Conn) { http.ReadRequest(bufio.NewReader(c)) }
	}
	return func(c net.Conn) {
		io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		f := http2.NewFramer(c, c)
		f.WriteSettings()
		for {
			fr, err := f.ReadFrame()
			if err != nil || fr.Header().Type == http2.FrameHeaders {
				return
			}
		}
	}
}

// TestResendHeadOnly_OneShot: an upload that waits for 100 Continue meets a dead connection. It
// wasn't touched, so the next connection gets all of it, if the policy doesn't mind two heads.
func TestResendHeadOnly_OneShot(t *testing.T) {
	text := strings.Repeat("payload ", 1<<10)
	for _, tt := range []struct {
		name    string
		p       retry.Policy
		retries int
	}{
		{"by the policy", retry.Policy{ResendHeadOnly: true}, 1},
		{"not by default", retry.Default(), 0},
		{"nor if one-shot bodies are left alone", retry.Policy{ResendHeadOnly: true, LeaveOneShot: true}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, w wire) {
				if w.stock {
					t.SkipNow() // it doesn't tell that the body wasn't sent
				}
				var s *site
				s = w.start(t, headThenReset(w), func(_ http.ResponseWriter, r *http.Request) { s.take(r) })
				c := &counted{}
				body := &countedStream{c, strings.NewReader(text)}
				retries, err := s.call(t, tt.p, func(req *http.Request) {
					*req = *req.WithContext(retry.WithPolicy(t.Context(), quick(tt.p))) // without the opt-in
					req.Method = "POST"
					req.Header.Set("Expect", "100-continue")
					req.Body, req.ContentLength = body, int64(len(text))
				})
				if tt.retries == 1 {
					if err != nil {
						t.Errorf("got %v", err)
					}
					s.wantWhole(t, text)
				} else {
					e, ok := errors.AsType[*pool.Error](err)
					if !ok || !e.HeadOnly || e.BodyTouched || e.Phase.Unprocessed() {
						t.Errorf("got %+v after %d retries; want the head only, the body untouched", err, retries)
					}
					s.wantWhole(t)
				}
				if (c.reads == 0) != (tt.retries == 0) || c.closes != 1 {
					t.Errorf("the body was read %d times and closed %d times", c.reads, c.closes)
				}
			})
		})
	}
}

// refuses refuses a stream on an HTTP/2 connection, and all later ones: with its head, or when its
// body is there.
func refuses(behindBody bool) func(net.Conn) {
	return func(c net.Conn) {
		io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		f := http2.NewFramer(c, c)
		f.WriteSettings()
		for {
			fr, err := f.ReadFrame()
			if err != nil {
				return // the client has closed what it can't use
			}
			h := fr.Header()
			if !behindBody && h.Type == http2.FrameHeaders || h.Type == http2.FrameData && h.Flags.Has(http2.FlagDataEndStream) {
				f.WriteRSTStream(h.StreamID, http2.ErrCodeRefusedStream)
				f.WriteGoAway(h.StreamID, http2.ErrCodeNo, nil)
			}
		}
	}
}

// TestRefusedOneShot: a stream that is refused before the body was read is sent again; behind
// that the error says both that nothing was processed and that the body is gone.
func TestRefusedOneShot(t *testing.T) {
	text := strings.Repeat("payload ", 1<<10)
	for name, behindBody := range map[string]bool{"before the body": false, "behind it": true} {
		t.Run(name, func(t *testing.T) {
			var s *site
			s = wire{secure: true, h2: true}.start(t, refuses(behindBody), func(_ http.ResponseWriter, r *http.Request) { s.take(r) })
			c := &counted{}
			retries, err := s.call(t, retry.Default(), func(req *http.Request) {
				req.Method = "POST"
				if !behindBody {
					req.Header.Set("Expect", "100-continue")
				}
				req.Body, req.ContentLength = &countedStream{c, strings.NewReader(text)}, int64(len(text))
			})
			if !behindBody {
				if err != nil || retries != 1 {
					t.Errorf("got %v after %d retries, want one", err, retries)
				}
				s.wantWhole(t, text)
			} else {
				e, ok := errors.AsType[*pool.Error](err)
				if !ok || e.Phase != pool.PhaseRefused || !e.BodyTouched || retries != 0 {
					t.Errorf("got %v after %d retries; want it refused, with the body touched", err, retries)
				}
				s.wantWhole(t)
			}
			if c.reads == 0 || c.closes != 1 {
				t.Errorf("the body was read %d times and closed %d times", c.reads, c.closes)
			}
		})
	}
}

// A countedStream can be had once.
type countedStream struct {
	c *counted
	r io.Reader
}

func (s *countedStream) Read(p []byte) (int, error) { s.c.reads++; return s.r.Read(p) }
func (s *countedStream) Close() error               { s.c.closes++; return nil }

// TestDiscardOnTheWire: discarded answers leave their connection usable; an endless one costs
// another connection at most.
func TestDiscardOnTheWire(t *testing.T) {
	for name, endless := range map[string]bool{"4 KiB": false, "endless": true} {
		t.Run(name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, w wire) {
				var n atomic.Int32
				page := make([]byte, 4<<10)
				s := w.start(t, nil, func(rw http.ResponseWriter, r *http.Request) {
					if n.Add(1) > 2 {
						rw.Write(page)
						return
					}
					rw.Header().Set("Retry-After", "0")
					rw.WriteHeader(503)
					for {
						if _, err := rw.Write(page); err != nil || !endless || n.Load() == 2 {
							return
						}
					}
				})
				retries, err := s.call(t, retry.Policy{RetryStatuses: []int{503}}, func(*http.Request) {})
				if err != nil || retries != 2 {
					t.Errorf("got %v after %d retries", err, retries)
				}
				if conns := int(s.conns.Load()); conns > 1 && !endless || conns > 2 {
					t.Errorf("%d connections", conns)
				}
			})
		})
	}
}

// TestUntouchedOneShotGoesOn: a body that can be had once survives connections that are refused
// or end in their handshake, and arrives whole.
func TestUntouchedOneShotGoesOn(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	for _, length := range []int64{int64(len(text)), -1} {
		o := newOrigin(t, true, []string{hsRST})
		c := &counted{}
		r := newRig(t, quick(retry.Default()), []string{refused}, nil)
		req, err := http.NewRequestWithContext(t.Context(), "POST", o.url(), &countedStream{c, strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		r.wantOK(r.send(req), 2)
		o.wantSeen(seen{method: "POST", body: text})
		if c.closes != 1 {
			t.Errorf("the body was closed %d times", c.closes)
		}
	}
}
