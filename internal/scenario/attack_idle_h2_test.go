package scenario

import (
	"bytes"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A hostileH2 speaks HTTP/2 on one connection, and ends it, or a stream, at any moment. What it
// says of a request is true: it executes each that it doesn't call unprocessed.
type hostileH2 struct {
	nc   net.Conn
	fr   *http2.Framer
	l    *ledger
	rnd  *rand.Rand
	enc  *hpack.Encoder
	buf  bytes.Buffer
	last uint32 // the last stream that was executed
	away bool   // it has said so in a GOAWAY
}

// serveHostileH2 serves in the rig's mode and returns the URL. It ends before what was made before
// it: net/http leaves a connection open now and then.
func (r *rig) serveHostileH2(l *ledger) string {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() {
		for n := uint64(0); ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				done := make(chan struct{})
				wg.Go(func() {
					select {
					case <-over:
					case <-done:
					}
					c.Close()
				})
				defer close(done)
				serveOneHostileH2(c, r.mode.tls, l, n)
			})
		}
	})
	r.t.Cleanup(func() { ln.Close(); close(over); wg.Wait() })
	if r.mode.tls {
		return "https://" + ln.Addr().String()
	}
	return "http://" + ln.Addr().String()
}

func serveOneHostileH2(tcp net.Conn, byTLS bool, l *ledger, seed uint64) {
	c := &hostileH2{nc: tcp, l: l, rnd: rand.New(rand.NewPCG(seed, 17))}
	if byTLS {
		t := tls.Server(tcp, &tls.Config{Certificates: []tls.Certificate{identity().cert}, NextProtos: []string{"h2"}})
		if t.Handshake() != nil {
			return
		}
		c.nc = t
	}
	c.fr = http2.NewFramer(c.nc, c.nc)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.enc = hpack.NewEncoder(&c.buf)
	if _, err := io.ReadFull(c.nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	c.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 10})
	for c.next() {
	}
	switch c.rnd.IntN(3) {
	case 0:
		c.nc.Close()
	case 1:
		tcp.(*net.TCPConn).SetLinger(0)
	}
}

// next plays one frame, and tells whether the connection goes on.
func (c *hostileH2) next() bool {
	if c.rnd.IntN(10) == 0 { // it ends at about the time of the next request
		c.nc.SetReadDeadline(time.Now().Add(time.Duration(c.rnd.IntN(6000)) * time.Microsecond))
	} else {
		c.nc.SetReadDeadline(time.Time{})
	}
	f, err := c.fr.ReadFrame()
	if err != nil {
		return false
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			c.fr.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if c.rnd.IntN(6) == 0 {
			return false
		}
		if !f.IsAck() && c.rnd.IntN(8) > 0 {
			c.fr.WritePing(true, f.Data)
		}
	case *http2.MetaHeadersFrame:
		return c.request(f)
	}
	return true
}

func (c *hostileH2) request(f *http2.MetaHeadersFrame) bool {
	if c.away { // above what it has named
		return true
	}
	key := f.PseudoValue("method") + " " + f.PseudoValue("path")
	switch c.rnd.IntN(14) {
	case 0: // refused
		c.fr.WriteRSTStream(f.StreamID, http2.ErrCodeRefusedStream)
		return true
	case 1: // the connection leaves, without this one
		c.away = true
		c.fr.WriteGoAway(c.last, http2.ErrCodeNo, nil)
		return c.rnd.IntN(2) == 0
	case 2: // and with it
		c.away = true
		c.execute(f.StreamID, key)
		c.fr.WriteGoAway(f.StreamID, http2.ErrCodeNo, nil)
		return false
	}
	c.execute(f.StreamID, key)
	switch c.rnd.IntN(8) {
	case 0:
		return false
	case 1:
		c.fr.WriteRSTStream(f.StreamID, http2.ErrCodeCancel)
		return true
	case 2:
		c.fr.WriteRSTStream(f.StreamID, http2.ErrCodeInternal)
		return true
	case 3:
		c.head(f.StreamID, "103", false)
	}
	c.head(f.StreamID, "200", true)
	if !f.StreamEnded() {
		c.fr.WriteRSTStream(f.StreamID, http2.ErrCodeNo)
	}
	return true
}

func (c *hostileH2) execute(id uint32, key string) {
	c.last = id
	c.l.note(c.l.lines, key)
}

func (c *hostileH2) head(id uint32, status string, end bool) {
	c.buf.Reset()
	c.enc.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.buf.Bytes(), EndHeaders: true, EndStream: end})
}

// The same over HTTP/2: none is executed twice, be it by the pool, or by net/http over a Guard.
func TestAttackNoPostTwiceOverHTTP2(t *testing.T) {
	long(t)
	const rounds, workers = 120, 8
	policy := quick(retry.Policy{MaxRetries: 3, ResendHeadOnly: true})
	clients := []struct {
		name string
		over func(*rig) http.RoundTripper
		// Bodies make net/http race with itself here, as it reads from one while it tries again.
		bodies bool
		tls    bool // only
	}{
		{"pool", func(r *rig) http.RoundTripper { return r.h2pool(pool.Config{}) }, true, false},
		{"pool that asks", func(r *rig) http.RoundTripper { return r.h2pool(pool.Config{ConfirmAfter: 1}) }, true, false},
		{"Guard", func(r *rig) http.RoundTripper {
			tr := r.guarded(r.newGuard(pool.GuardConfig{}), false)
			tr.ForceAttemptHTTP2 = true
			return tr
		}, false, true},
		{"Guard with TLS", func(r *rig) http.RoundTripper {
			cfg := clientTLS("")
			cfg.NextProtos = []string{"h2"}
			tr := r.guarded(r.newGuard(pool.GuardConfig{TLSClientConfig: cfg}), true)
			tr.ForceAttemptHTTP2 = true
			return tr
		}, false, true},
		{"Guard by prior knowledge", func(r *rig) http.RoundTripper {
			tr := r.guarded(r.newGuard(pool.GuardConfig{}), false)
			tr.Protocols = new(http.Protocols)
			tr.Protocols.SetUnencryptedHTTP2(true)
			tr.Protocols.SetHTTP2(true)
			return tr
		}, false, false},
	}
	for _, cl := range clients {
		t.Run(cl.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, r *rig) {
				if cl.tls && !r.mode.tls {
					t.Skip("needs TLS")
				}
				l := newLedger()
				rt := &retry.Transport{Base: cl.over(r), Policy: policy}
				tally := r.siege(rt, r.serveHostileH2(l), workers, rounds, cl.bodies)
				if twice := l.twice(l.lines); len(twice) > 0 {
					t.Errorf("executed twice: %v", twice)
				}
				tally.wantSome(t)
			})
		})
	}
}

// A connection may end before whoever has dialled it has it.
func TestAttackHTTP2ConnectionsThatEndAtOnce(t *testing.T) {
	const rounds, workers = 160, 4
	r := newRig(t, plain)
	p := r.peer(func(c *peerConn) {
		if c.num%2 == 0 {
			c.tcp.SetLinger(0)
		}
	})
	together(workers, func(int) {
		for range rounds / workers {
			tr := r.h2pool(pool.Config{}) // one that has seen this spares the peer
			if err := doer(tr.RoundTrip).send(newCall(t.Context(), http.MethodPost, p.url, noBody)); err == nil {
				t.Error("an answer from nobody")
			}
		}
	})
}
