//go:build linux

package h2

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/health"
	"example.com/connwise/internal/wire"
)

// newKernelRig is newOpenRig on a socket of the kernel's, with TLS or without.
func newKernelRig(t *testing.T, secure bool, ss ...http2.Setting) (r *rig, peer net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc.(*net.TCPConn).SetWriteBuffer(16 << 10)
	if peer, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	peer.(*net.TCPConn).SetReadBuffer(16 << 10)
	if secure {
		nc, peer = shake(t, nc, peer)
	}
	r = &rig{t: t, recorder: newRecorder()}
	r.init()
	r.c = NewConn(nc, &Options{}, r.recorder)
	r.fr = http2.NewFramer(peer, peer)
	t.Cleanup(func() {
		r.c.Kill(errTest)
		peer.Close()
		<-r.ended
	})
	io.ReadFull(peer, make([]byte, len(http2.ClientPreface)))
	r.hears()
	r.hears()
	r.fr.WriteSettings(ss...)
	r.hearsSettingsAck()
	return r, peer
}

func shake(t *testing.T, nc, peer net.Conn) (client, server net.Conn) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // for its certificate
	defer s.Close()
	c := health.NewTLSClient(nc, &tls.Config{InsecureSkipVerify: true})
	p := tls.Server(peer, &tls.Config{Certificates: s.TLS.Certificates})
	done := make(chan error, 1)
	go func() { done <- p.Handshake() }()
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return c, p
}

func kinds(t *testing.T, f func(t *testing.T, secure bool)) {
	t.Run("plain", func(t *testing.T) { f(t, false) })
	t.Run("tls", func(t *testing.T) { f(t, true) })
}

const hugeWindow = 1<<30 - 1

// A peer that reads nothing holds up what is in its socket, and nobody of this side.
func TestStalledSocket(t *testing.T) {
	kinds(t, func(t *testing.T, secure bool) {
		r, _ := newKernelRig(t, secure, http2.Setting{ID: http2.SettingInitialWindowSize, Val: hugeWindow})
		r.fr.WriteWindowUpdate(0, hugeWindow)
		big := bytes.Repeat([]byte("x"), 16<<20)
		req := post(t, nil)
		req.Small = big
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		req.Request = req.WithContext(ctx)
		a := r.start(req)
		awaitStall(t, r.c)
		begin := time.Now()
		late, stop := context.WithCancel(context.Background())
		b := r.start(getCtx(t, late))
		awaitQueue(t, r.c, 1)
		stop()
		b.failsWith(context.Canceled)
		b.wantFacts(wire.Facts{})
		b.wantEnd(wire.EndCancelled)
		cancel()
		a.failsWith(context.Canceled)
		if f := a.x.Facts(); f.Sent == 0 || f.AllSent || f.Sent >= int64(len(big)) {
			t.Errorf("facts %+v", f)
		}
		r.c.Kill(errTest)
		<-r.ended
		a.wantEnd(wire.EndCancelled)
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// awaitStall waits until c's writer waits for its socket.
func awaitStall(t *testing.T, c *Conn) {
	t.Helper()
	last := -1
	eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		sent := 0
		for _, x := range c.streams {
			sent += int(x.sent)
		}
		still := c.writing && sent == last
		last = sent
		return still
	})
}

func awaitQueue(t *testing.T, c *Conn, n int) {
	t.Helper()
	eventually(t, func() bool { return c.State().Queued == n })
}

// eventually asks until it's true: there is no event to wait for.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		<-tick.C
		if ok() {
			return
		}
	}
	t.Fatal("it never happens")
}

// What a stalled socket was given arrives when the peer reads again, to the byte.
func TestSocketThatStallsNowAndThen(t *testing.T) {
	kinds(t, func(t *testing.T, secure bool) {
		r, _ := newKernelRig(t, secure, http2.Setting{ID: http2.SettingInitialWindowSize, Val: hugeWindow})
		r.fr.WriteWindowUpdate(0, hugeWindow)
		want := bytes.Repeat([]byte("0123456789abcdef"), 256<<10)
		a := r.start(post(t, bytes.NewReader(want)))
		awaitStall(t, r.c)
		b := r.start(get(t))
		awaitQueue(t, r.c, 1)
		var got []byte
		for streams := 2; streams > 0; {
			switch f := r.hears().(type) {
			case *http2.HeadersFrame:
				if f.StreamID == 3 {
					r.ok(3, "")
					streams--
				}
			case *http2.DataFrame:
				got = append(got, f.Data()...)
				if f.StreamEnded() {
					r.ok(1, "")
					streams--
				}
			}
		}
		if !bytes.Equal(got, want) {
			t.Error("the body isn't the same")
		}
		a.answer(200)
		b.answer(200)
		a.wantEnd(wire.EndKept)
		b.wantEnd(wire.EndKept)
	})
}

// Resting is false as long as something that has been taken from the socket isn't dealt with.
// The kernel may bring what was sent a little later, if it is very busy: that can look like a
// miss, but hardly in each round.
func TestResting(t *testing.T) {
	kinds(t, func(t *testing.T, secure bool) {
		r, _ := newKernelRig(t, secure)
		look := health.NewArrivals(r.c.nc)
		missed := 0
		for range 3 {
			if missed = restingMisses(t, r, look); missed == 0 {
				return
			}
		}
		t.Errorf("%d times there was something that nobody had dealt with", missed)
	})
}

// restingMisses counts how often a connection seems to rest and hasn't dealt with a frame.
func restingMisses(t *testing.T, r *rig, look *health.Arrivals) (missed int) {
	for range 1000 {
		r.fr.WriteGoAway(noMoreStreams, 0, nil)
		for unread := true; unread || !r.c.Resting(); {
			_, unread = look.Look()
		}
		if !r.c.State().GoAway {
			missed++
			eventually(t, func() bool { return r.c.State().GoAway })
		}
		r.c.mu.Lock()
		r.c.gotAway = false
		r.c.mu.Unlock()
	}
	return missed
}

func TestReset(t *testing.T) {
	kinds(t, func(t *testing.T, secure bool) {
		r, peer := newKernelRig(t, secure)
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		raw := peer
		if tc, ok := peer.(*tls.Conn); ok {
			raw = tc.NetConn()
		}
		raw.(*net.TCPConn).SetLinger(0)
		raw.Close()
		if err := a.fails(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("failed with %v", err)
		}
		a.wantFacts(wire.Facts{Sent: a.x.queued, AllSent: true})
	})
}
