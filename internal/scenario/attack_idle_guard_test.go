package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// An odd is what dial hooks may return: a connection without addresses, and without a socket.
type odd struct{ inner net.Conn }

func (o *odd) Read(p []byte) (int, error)         { return o.inner.Read(p) }
func (o *odd) Write(p []byte) (int, error)        { return o.inner.Write(p) }
func (o *odd) Close() error                       { return o.inner.Close() }
func (o *odd) LocalAddr() net.Addr                { return nil }
func (o *odd) RemoteAddr() net.Addr               { return nil }
func (o *odd) SetDeadline(t time.Time) error      { return o.inner.SetDeadline(t) }
func (o *odd) SetReadDeadline(t time.Time) error  { return o.inner.SetReadDeadline(t) }
func (o *odd) SetWriteDeadline(t time.Time) error { return o.inner.SetWriteDeadline(t) }

// Whatever a dial hook returns, a Guard works with it or says that it can't, and keeps no slot.
func TestAttackGuardWithOddHooks(t *testing.T) {
	hooks := map[string]struct {
		dial  func(context.Context, string, string) (net.Conn, error)
		works bool
	}{
		"no addresses": {func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &odd{c}, nil
		}, true},
		"neither connection nor error": {func(context.Context, string, string) (net.Conn, error) { return nil, nil }, false},
		"both": {func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			c.Close()
			return c, errors.New("an error as well")
		}, false},
		"a closed one": {func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				c.Close()
			}
			return c, err
		}, false},
	}
	for name, h := range hooks {
		t.Run(name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, r *rig) {
				p := r.peer(serveDated0)
				tr, _ := r.guard(pool.GuardConfig{DialContext: h.dial, MaxConnsPerHost: 1, ProxyIdleTimeout: 40 * time.Millisecond})
				for range 4 { // with one slot: a leak would end it
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					c := newCall(ctx, http.MethodGet, p.url, noBody)
					err := doer(tr.RoundTrip).send(c)
					cancel()
					if h.works != (err == nil) || errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v", err)
					}
					pause(50 * time.Millisecond) // beyond the limit
				}
			})
		})
	}
}

func serveDated0(c *peerConn) { serveDated(c) }

// Readers, writers, closers and those who look at the numbers use one connection at a time.
func TestAttackGuardConnectionStorm(t *testing.T) {
	r := newRig(t, plain)
	p := r.peer(func(c *peerConn) {
		for {
			if _, err := http.ReadRequest(c.br); err != nil {
				return
			}
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	g := r.newGuard(pool.GuardConfig{ProxyIdleTimeout: 2 * time.Millisecond, MaxConnsPerHost: 2})
	const text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	acts := []func(net.Conn){
		func(c net.Conn) { io.WriteString(c, text) },
		func(c net.Conn) { c.Write(nil) },
		func(c net.Conn) { c.(io.ReaderFrom).ReadFrom(strings.NewReader(text)) },
		func(c net.Conn) { (&net.Buffers{[]byte(text[:10]), nil, []byte(text[10:])}).WriteTo(c) },
		func(c net.Conn) { c.SetReadDeadline(time.Now().Add(time.Millisecond)); c.Read(make([]byte, 100)) },
		func(c net.Conn) { c.Read(nil) },
		func(c net.Conn) { c.SetDeadline(time.Time{}) },
		func(c net.Conn) { pool.Accepted(c) },
		func(net.Conn) { g.Stats() },
		func(net.Conn) { pause(time.Millisecond) },
		func(c net.Conn) { c.(interface{ CloseWrite() error }).CloseWrite() },
		func(c net.Conn) { c.Close() },
	}
	together(4, func(w int) {
		rnd := rand.New(rand.NewPCG(uint64(w), 5))
		for range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			c, err := g.DialContext(ctx, "tcp", p.addr)
			cancel()
			if err != nil {
				t.Error(err)
				return
			}
			steps := rnd.Perm(4 * len(acts))
			var wg sync.WaitGroup
			for k := range 3 {
				wg.Go(func() {
					for _, s := range steps[k*len(acts):][:len(acts)] {
						if a := s % (len(acts) + 4*k); a < len(acts) {
							acts[a](c)
						}
					}
				})
			}
			cut := time.AfterFunc(5*time.Millisecond, func() { c.Close() }) // ends a Read without a deadline
			wg.Wait()
			cut.Stop()
			c.Close()
		}
	})
}

// An upload may pause for longer than the limit wherever it likes, in whatever it says, though
// the answer has begun already.
func TestAttackGuardLetsAnsweredUploadsPause(t *testing.T) {
	const limit = 40 * time.Millisecond
	pieces := []string{"hello world", "to be or not to be", "GET", "A B", "POST /", "{}", "\r\n", "key value\n", " "}
	for _, chunked := range []bool{false, true} {
		t.Run(fmt.Sprint("chunked ", chunked), func(t *testing.T) {
			r := newRig(t, plain)
			p := r.peer(func(c *peerConn) {
				req, err := http.ReadRequest(c.br)
				if err != nil {
					return
				}
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				b, err := io.ReadAll(req.Body)
				if err == nil {
					c.say("%x\r\n%s\r\n0\r\n\r\n", len(b), b)
				}
				c.drain()
			})
			tr, _ := r.guard(pool.GuardConfig{ProxyIdleTimeout: 2 * limit, IdleMargin: limit})
			pr, pw := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, pr)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(pieces, "")
			if !chunked {
				req.ContentLength = int64(len(want))
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for _, s := range pieces {
					pause(limit + limit/2)
					io.WriteString(pw, s)
				}
				pw.Close()
			}()
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(b) != want {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}
