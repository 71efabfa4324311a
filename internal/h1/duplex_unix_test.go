//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package h1

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/wire"
)

// An eye looks at a socket as a *health.Probe does, and counts how often it's used.
type eye struct {
	syscall.RawConn
	calls, glances int
	waits          func() // is called before each wait, if it isn't nil
}

func (e *eye) Descriptor() syscall.RawConn { return e }

func (e *eye) Read(f func(uintptr) bool) error {
	e.calls++
	return e.RawConn.Read(func(fd uintptr) bool {
		done := f(fd)
		if !done && e.waits != nil {
			e.waits()
		}
		return done
	})
}

func (e *eye) Glance(fd uintptr) bool {
	e.glances++
	_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
	return wouldBlock(err)
}

// A pair is a Conn over a socket, and its peer.
type pair struct {
	t    *testing.T
	c    *Conn
	nc   *net.TCPConn // under c
	peer *net.TCPConn
	br   *bufio.Reader // of peer
	eye  *eye          // nil if write and read are two calls
}

func newPair(t *testing.T, opt Options, merged bool) *pair {
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
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, c: NewConn(nc, &opt), nc: nc.(*net.TCPConn), peer: peer.(*net.TCPConn), br: bufio.NewReader(peer)}
	peer.SetDeadline(time.Now().Add(10 * time.Second))
	t.Cleanup(func() { p.c.Close(); peer.Close() })
	if merged {
		rc, _ := p.nc.SyscallConn()
		p.eye = &eye{RawConn: rc}
		if !p.c.LookBy(p.eye) {
			t.Fatal("LookBy refused a socket")
		}
	}
	return p
}

func (p *pair) start(req wire.Request) *attempt {
	a := &attempt{t: p.t, ret: make(chan struct{}), ends: make(chan wire.End, 8)}
	go func() {
		defer close(a.ret)
		a.resp, a.err = a.x.Start(p.c, req, a)
	}()
	return a
}

// hear reads a request's head.
func (p *pair) hear() {
	if _, err := http.ReadRequest(p.br); err != nil {
		p.t.Errorf("the peer's read: %v", err)
	}
}

// arrived waits until something has come to the client: a byte, or an end.
func (p *pair) arrived() {
	rc, _ := p.nc.SyscallConn()
	rc.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return !wouldBlock(err)
	})
}

// fates are what can become of a GET. The request takes the same end in two calls and in one.
var fates = map[string]func(p *pair, cancel func()){
	"answered": func(p *pair, _ func()) { p.hear(); io.WriteString(p.peer, ok5) },
	"by pieces": func(p *pair, _ func()) {
		p.hear()
		io.WriteString(p.peer, ok5[:9])
		io.WriteString(p.peer, ok5[9:])
	},
	"closed": func(p *pair, _ func()) { p.hear(); p.peer.Close() },
	"reset":  func(p *pair, _ func()) { p.hear(); p.peer.SetLinger(0); p.peer.Close() },
	"half answered": func(p *pair, _ func()) {
		p.hear()
		io.WriteString(p.peer, ok5[:20])
		p.peer.Close()
	},
	"cancelled": func(p *pair, cancel func()) { p.hear(); cancel() },
	"cut":       func(p *pair, _ func()) { p.hear(); p.nc.Close() },
	"deadline":  func(p *pair, _ func()) { p.hear(); p.nc.SetDeadline(time.Now()) },
	"no answer": func(p *pair, _ func()) { p.hear() }, // HeaderTimeout ends it
}

var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func TestMergedExchange(t *testing.T) {
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			var errs [2]string
			var facts [2]wire.Facts
			for i, merged := range []bool{false, true} {
				opt := Options{}
				if name == "no answer" {
					opt.HeaderTimeout = 10 * time.Millisecond
				}
				p := newPair(t, opt, merged)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req := get(t)
				req.Request, req.Look = req.WithContext(ctx), merged
				a := p.start(req)
				fate(p, cancel)
				<-a.ret
				facts[i] = a.x.Facts()
				if errs[i] = "none"; a.err != nil {
					errs[i] = ports.ReplaceAllString(a.err.Error(), "addr")
				} else {
					a.reads("hello")
					a.wantEnd(wire.EndKept)
				}
				if merged && (p.eye.calls != 1 || p.eye.glances != 1) {
					t.Errorf("%d calls and %d looks, want one of each", p.eye.calls, p.eye.glances)
				}
			}
			if errs[0] != errs[1] || facts[0] != facts[1] {
				t.Errorf("in two calls %s, %+v\nin one %s, %+v", errs[0], facts[0], errs[1], facts[1])
			}
			if facts[1].Sent != int64(len(getHead)) || !facts[1].AllSent {
				t.Errorf("facts %+v, want all %d bytes sent", facts[1], len(getHead))
			}
		})
	}
}

// What is there before the request is found by the look, in every way that a request is sent:
// nothing leaves, and the connection and the body are left to their owners.
func TestLookBeforeTheFirstByte(t *testing.T) {
	for name, come := range map[string]func(p *pair){
		"data":  func(p *pair) { io.WriteString(p.peer, "HTTP/1.1 408 Timeout\r\n\r\n") },
		"end":   func(p *pair) { p.peer.CloseWrite() },
		"reset": func(p *pair) { p.peer.SetLinger(0); p.peer.Close() },
	} {
		for way, opt := range map[string]Options{"merged": {}, "two calls": {WriteStall: time.Hour}, "upload": {ContinueTimeout: time.Hour}} {
			t.Run(name+", "+way, func(t *testing.T) {
				p := newPair(t, opt, true)
				come(p)
				p.arrived()
				req := get(t)

				if way == "upload" {
					req = expecting(t)["in memory"]
				}
				req.Look = true
				a := p.start(req)
				a.failsWith(wire.ErrStale)
				a.wantFacts(wire.Facts{})
				if err := p.c.begin(); err != nil {
					t.Errorf("the connection isn't as it was: %v", err)
				}
				p.nc.CloseWrite()
				if b, _ := io.ReadAll(p.br); len(b) > 0 {
					t.Errorf("the peer received %q", b)
				}
			})
		}
	}
}

// Without the look nobody may wait in vain for what had come before: it's taken for the answer,
// or its end. The runtime's poller has told of it by then, and doesn't again.
func TestMergedWithoutALook(t *testing.T) {
	for name, come := range map[string]func(p *pair){
		"answered":           func(p *pair) {},
		"answered before":    func(p *pair) { io.WriteString(p.peer, ok5) },
		"half-closed before": func(p *pair) { p.peer.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, Options{HeaderTimeout: 10 * time.Second}, true)
			if name != "answered" {
				p.told(func() { come(p) })
			}
			a := p.start(get(t))
			p.hear()
			switch name {
			case "answered":
				io.WriteString(p.peer, ok5)
				fallthrough
			case "answered before":
				a.answer(200)
				a.reads("hello")
				a.wantEnd(wire.EndKept)
			default:
				a.failsWith(io.EOF)
			}
			if p.eye.calls != 1 || p.eye.glances != 0 {
				t.Errorf("%d calls and %d looks, want one and none", p.eye.calls, p.eye.glances)
			}
		})
	}
}

// An answer may be long in coming, and the request's buffer isn't kept for so long.
func TestMergedWaitKeepsNoRequest(t *testing.T) {
	p := newPair(t, Options{}, true)
	waits := 0
	a := &attempt{t: t, ret: make(chan struct{}), ends: make(chan wire.End, 8)}
	p.eye.waits = func() {
		if waits++; a.x.out != nil {
			t.Error("the request's buffer is kept")
		}
	}
	go func() { p.hear(); io.WriteString(p.peer, ok5) }()
	req := get(t)
	req.Look = true // so that it waits in any case
	resp, err := a.x.Start(p.c, req, a)
	if err != nil || waits == 0 {
		t.Fatalf("%d waits, %v", waits, err)
	}
	resp.Body.Close()
}

// told has something come, and waits until the runtime's poller has told of it.
func (p *pair) told(come func()) {
	rc, _ := p.nc.SyscallConn()
	asked := false
	rc.Read(func(fd uintptr) bool {
		if !asked {
			asked = true
			come()
			return false
		}
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return !wouldBlock(err)
	})
}

// A socket that takes only a part is written to again, and every byte is counted once.
func TestMergedRequestThatDoesNotFit(t *testing.T) {
	for _, end := range []string{"read", "cancelled"} {
		t.Run(end, func(t *testing.T) {
			p := newPair(t, Options{}, true)
			p.nc.SetWriteBuffer(4 << 10)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			fill := strings.Repeat("x", 1<<20) // more than buffers hold; as a header, since bodies so large aren't merged
			req := get(t)
			req.Request, req.Look = req.WithContext(ctx), true
			req.Header.Set("X-Fill", fill)
			a := p.start(req)
			if end == "cancelled" {
				p.br.Peek(1)
				cancel()
				a.failsWith(context.Canceled)
				f := a.x.Facts()
				b, _ := io.ReadAll(p.br)
				if f.AllSent || f.Sent == 0 || f.Sent < int64(len(b)) {
					t.Errorf("facts %+v; %d bytes came", f, len(b))
				}
				return
			}
			got, err := http.ReadRequest(bufio.NewReaderSize(p.br, 2<<20))
			if err != nil || got.Header.Get("X-Fill") != fill {
				t.Fatalf("the request came as something else, %v", err)
			}
			io.WriteString(p.peer, ok5)
			a.answer(200)
			want := int64(len(getHead) + len("X-Fill: \r\n") + len(fill))
			if f := a.x.Facts(); f.Sent != want || !f.AllSent {
				t.Errorf("facts %+v, want %d bytes sent", f, want)
			}
			a.reads("hello")
			a.wantEnd(wire.EndKept)
		})
	}
}

// A connection that was closed on this side, or whose deadline has passed, takes nothing: that
// is the proof that the request may be sent again.
func TestMergedWriteThatFails(t *testing.T) {
	for name, ruin := range map[string]func(p *pair){
		"closed":   func(p *pair) { p.nc.Close() },
		"deadline": func(p *pair) { p.nc.SetDeadline(time.Unix(1, 0)) },
		"shut":     func(p *pair) { p.nc.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			var errs [2]string
			for i, merged := range []bool{false, true} {
				p := newPair(t, Options{}, merged)
				ruin(p)
				a := p.start(get(t))
				err := a.fails()
				a.wantFacts(wire.Facts{})
				errs[i] = ports.ReplaceAllString(err.Error(), "addr")
				if o, ok := errors.AsType[*net.OpError](err); !ok || o.Op != "write" {
					t.Errorf("merged %v: %#v, want that of a write", merged, err)
				}
			}
			if errs[0] != errs[1] {
				t.Errorf("in two calls %s, in one %s", errs[0], errs[1])
			}
		})
	}
}
